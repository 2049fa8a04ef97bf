#include "feed/rpc_answer.h"

#include "base/limits.h"
#include "base/result.h"

namespace coffer::feed {
namespace {

constexpr int kWarmingUp = -28;
constexpr std::size_t kMaxReasonBytes = 64u << 10, kMaxShownBytes = 500;
constexpr std::size_t kMaxOffers = 1'000, kMaxOfferBytes = 1'000;

std::unexpected<Error> garbled(std::string_view method) {
  return fail(
      Error{Code::kCorrupt, true, fmt::format("the node's answer to {} makes no sense", method)});
}

std::unexpected<Error> refused(json::Text problem, std::string_view method) {
  std::string words = "no reason given";
  if (const auto text = problem.find("message"); text && text->is_string())
    words = text->string(kMaxReasonBytes).value_or("for a reason that is too long to be shown");
  const auto number = problem.find("code");
  const std::int64_t code = number ? number->integer().value_or(0) : 0;
  std::replace_if(words.begin(), words.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  words.resize(std::min(words.size(), kMaxShownBytes));
  if (code == kWarmingUp) return unavailable("the node is starting up: " + words);
  return fail(
      Error{Code::kInvalidInput, false, fmt::format("the node refuses {}: {}", method, words)});
}

}  // namespace

std::unexpected<Error> unavailable(std::string message) {
  return fail(Error{Code::kUnavailable, true, std::move(message)});
}

Result<RpcAnswer> RpcAnswer::read(std::string body, int status, std::string_view method) {
  RpcAnswer answer(std::move(body), method);
  const auto document = json::Text::parse(answer.body_);
  const bool is_object = document && document->is_object();
  if (!is_object && status != 200)
    return unavailable(fmt::format("the node answers {} with status {}", method, status));
  if (!is_object) return garbled(method);
  if (const auto problem = document->find("error"); problem && !problem->is_null())
    return refused(*problem, method);
  const auto result = document->find("result");
  if (!result) return garbled(method);
  answer.offset_ = static_cast<std::size_t>(result->text().data() - answer.body_.data());
  answer.size_ = result->text().size();
  return answer;
}

Result<Hash256> RpcAnswer::hash_of(json::Text value) const {
  const auto text = value.plain_string();
  if (!text) return garbled(method_);
  const auto hash = chain::parse_display(chain::Family::kBitcoin, *text);
  if (!hash) return garbled(method_);
  return *hash;
}

Result<Bytes> RpcAnswer::bytes_of(json::Text value) const {
  const auto text = value.plain_string();
  if (!text || text->size() > 2 * limits::kMaxBlockBytes) return garbled(method_);
  auto bytes = from_hex(*text);
  if (!bytes) return garbled(method_);
  return bytes;
}

Result<Hash256> RpcAnswer::hash() const {
  return hash_of(result());
}

Result<Bytes> RpcAnswer::bytes() const {
  return bytes_of(result());
}

Result<RpcTip> RpcAnswer::tip() const {
  const auto blocks = result().find("blocks"), hash = result().find("bestblockhash");
  const std::int64_t height = blocks ? blocks->integer().value_or(-1) : -1;
  if (height < 0 || !hash) return garbled(method_);
  RpcTip tip{static_cast<std::uint64_t>(height), TRY(hash_of(*hash)), std::nullopt};
  const auto pruned = result().find("pruneheight");
  const std::int64_t lowest = pruned ? pruned->integer().value_or(-1) : -1;
  if (lowest > 0) tip.pruned_below = static_cast<std::uint64_t>(lowest);
  return tip;
}

Result<std::vector<Hash256>> RpcAnswer::hashes() const {
  if (!result().is_array()) return garbled(method_);
  constexpr std::size_t kLeastBytes = 2 * Hash256::kSize + 3;  // with quotes and comma
  std::vector<Hash256> all;
  all.reserve(size_ / kLeastBytes + 1);
  bool sound = true;
  result().for_each([&](json::Text element) {
    const auto one = hash_of(element);
    sound = one.has_value();
    if (sound) all.push_back(*one);
    return sound;
  });
  if (!sound) return garbled(method_);
  return all;
}

Result<std::optional<Bytes>> RpcAnswer::unmined() const {
  const auto hex = result().find("hex"), block = result().find("blockhash");
  if (!hex || !hex->is_string()) return garbled(method_);
  if (block && !block->is_null()) return std::nullopt;  // Core leaves it out where bcoin says null
  return TRY(bytes_of(*hex));
}

std::vector<ZmqOffer> RpcAnswer::zmq_offers() const {
  constexpr std::string_view kPublished = "pub";
  std::vector<ZmqOffer> offers;
  result().for_each([&](json::Text entry) {
    const auto type = entry.find("type"), address = entry.find("address");
    const auto name = type ? type->string(kMaxOfferBytes) : std::nullopt;
    const auto where = address ? address->string(kMaxOfferBytes) : std::nullopt;
    if (name && where && name->starts_with(kPublished))
      offers.push_back({name->substr(kPublished.size()), *where});
    return offers.size() < kMaxOffers;
  });
  return offers;
}

}  // namespace coffer::feed
