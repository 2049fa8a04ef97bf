#include "api/web_page.h"

#include <openssl/evp.h>

#include <array>

#include <fmt/format.h>

#include "base/check.h"
#include "base/result.h"

namespace coffer::api {

// Made from web/status.html by web/embed.cmake.
extern const unsigned char kStatusPage[];
extern const std::size_t kStatusPageSize;

namespace {

// What a content security policy calls the text between two tags: 'sha256-…'.
std::string hash_between(std::string_view page, std::string_view open, std::string_view close) {
  std::size_t start = page.find(open), end = page.find(close);
  CHECK(start != std::string_view::npos && end != std::string_view::npos && start < end);
  std::string_view text = page.substr(start + open.size(), end - start - open.size());
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned length = 0;
  CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr) == 1);
  std::array<unsigned char, 64> base64{};
  int size = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(length));
  return fmt::format("'sha256-{}'", std::string_view(reinterpret_cast<const char*>(base64.data()),
                                                     static_cast<std::size_t>(size)));
}

http::Response build() {
  std::string text(reinterpret_cast<const char*>(kStatusPage), kStatusPageSize);
  http::Response response;
  response.content_type = "text/html; charset=utf-8";
  response.headers.push_back(
      {"Content-Security-Policy",
       fmt::format(
           "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; img-src data:; "
           "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
           hash_between(text, "<script>", "</script>"),
           hash_between(text, "<style>", "</style>"))});
  response.shared_body = std::make_shared<const std::string>(std::move(text));
  return response;
}

}  // namespace

http::Response status_page() {
  static const http::Response page = build();
  return page;
}

}  // namespace coffer::api
