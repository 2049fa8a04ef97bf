#include "oidc/base64url.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "oidc/test_keys.h"

namespace coffer::oidc {
namespace {

TEST(Base64Url, KnownValues) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},          {"Zg", "f"},        {"Zm8", "fo"},
      {"Zm9v", "foo"},   {"Zm9vYg", "foob"}, {"-_-_", "\xfb\xff\xbf"},
      {"AAAA", nullptr},
  };
  for (const auto& [text, plain] : cases) {
    const auto bytes = decode_base64url(text);
    ASSERT_TRUE(bytes) << text;
    EXPECT_EQ(as_text(*bytes), plain == nullptr ? std::string(3, '\0') : plain) << text;
  }
}

TEST(Base64Url, OnlyTheCanonicalTextIsRead) {
  for (const char* text : {"A", "AAAAA", "Z", "Zg==", "Zg=", "Zh", "Zm9", "Zm9vY", "Zm 9", "Zm9v\n",
                           "+/+/", "Zm.v", "Zm9\xc3", "Zm9v Zg"})
    EXPECT_FALSE(decode_base64url(text)) << text;
  EXPECT_FALSE(decode_base64url(std::string_view("Zm\0v", 4)));
}

TEST(Base64Url, RandomBytesSurvive) {
  Rng rng(1);
  for (std::size_t size = 0; size < 200; ++size) {
    Bytes bytes(size);
    rng.fill(bytes);
    EXPECT_EQ(decode_base64url(encode_base64url(bytes)), bytes) << size;
  }
}

}  // namespace
}  // namespace coffer::oidc
