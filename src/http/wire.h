// The head of an answer as bytes.
// Invariant: no value of a header can end its line early.
#pragma once

#include <string>

#include "http/message.h"

namespace coffer::http {

struct HeadOptions {
  bool keep_alive = false;
  bool with_length = true;  // false for a stream, which ends with its connection
  bool is_tls = false;      // browsers are told to come with TLS from now on
  std::string_view date;
};

// Status line and headers, with those that every answer carries. Cost: one allocation.
std::string response_head(const Response& response, const HeadOptions& options);

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(std::int64_t unix_s);

}  // namespace coffer::http
