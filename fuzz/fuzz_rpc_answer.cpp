// Any bytes as a node's answer to JSON-RPC: an error, or values that follow from the text. The
// first byte says whether the HTTP status was 200.
#include <boost/json.hpp>

#include "base/check.h"
#include "base/limits.h"
#include "feed/rpc_answer.h"
#include "json/text.h"

namespace {

using namespace coffer;

// What is found lies within the text, and is what a tree of the text has there.
void compare(json::Text text, const boost::json::value& tree) {
  CHECK(text.is_object() == tree.is_object() && text.is_array() == tree.is_array());
  CHECK(text.is_string() == tree.is_string() && text.is_null() == tree.is_null());
  if (tree.is_int64()) CHECK(text.integer() == tree.get_int64());
  if (tree.is_string())
    CHECK(text.string(text.text().size()) == std::string_view(tree.get_string()));
  std::size_t elements = 0;
  text.for_each([&](json::Text element) {
    compare(element, tree.get_array().at(elements++));
    return true;
  });
  if (tree.is_array()) CHECK(elements == tree.get_array().size());
  if (!tree.is_object()) return;
  for (const auto& [key, value] : tree.get_object()) {
    const auto found = text.find(key);
    CHECK(found.has_value());
    compare(*found, value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string body(as_text({data + 1, size - 1}));
  boost::system::error_code error;
  const boost::json::value tree = boost::json::parse(body, error);
  const auto text = json::Text::parse(body);
  CHECK(text.has_value() == !error);
  // A tree is looked at as a whole for each of its members, so a large one takes too long.
  if (text && size < 2'000) compare(*text, tree);

  const auto answer = feed::RpcAnswer::read(body, data[0] % 2 == 0 ? 200 : 500, "call");
  if (!answer) {
    CHECK(answer.error().message.size() < 1'000);
    return 0;
  }
  CHECK(text && text->is_object());
  if (const auto tip = answer->tip()) CHECK(tip->height <= std::uint64_t{INT64_MAX});
  if (const auto bytes = answer->bytes()) CHECK(bytes->size() <= limits::kMaxBlockBytes);
  if (const auto ids = answer->hashes()) CHECK(ids->size() * 2 * Hash256::kSize <= size);
  (void)answer->hash();
  (void)answer->unmined();
  CHECK(answer->zmq_offers().size() <= 1'000);
  return 0;
}
