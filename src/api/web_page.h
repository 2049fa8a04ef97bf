// The status page, embedded in the program.
#pragma once

#include "http/message.h"

namespace coffer::api {

// GET / with a content security policy that allows exactly the page's own script and style.
// Cost: the body is shared, not copied. Thread-safe.
http::Response status_page();

}  // namespace coffer::api
