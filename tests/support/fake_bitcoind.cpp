#include "support/fake_bitcoind.h"

#include <coffer/chain/decode.h>
#include "base/check.h"
#include "base/result.h"
#include "crypto/sha256.h"
#include "support/networks.h"

namespace coffer::test {
namespace {

const chain::Network& regtest() {
  static const chain::Network network = chain::find_network("bitcoin", "regtest").value();
  return network;
}

Hash256 hash_of(ByteView block) {
  return crypto::sha256d(block.first(80));
}

// Where the result of an answer with a string ends: after its last character. Of any other answer,
// before its last byte, so that it is no JSON any more.
std::size_t end_of_text_result(const RpcReply& reply) {
  const std::size_t end = reply.body.rfind("\",\"error\":null");
  if (end != std::string::npos && end > 0) return end;
  CHECK(reply.body.size() > 1);
  return reply.body.size() - 1;
}

std::string base64(std::string_view text) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = (word << 8) | (i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      out += i + k > text.size() ? '=' : kDigits[(word >> (18 - 6 * k)) & 63];
  }
  return out;
}

// The value of a header field; names in any case.
std::string field(std::string_view head, std::string_view name) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    const std::size_t colon = line.find(':');
    if (colon == name.size() &&
        std::equal(name.begin(), name.end(), line.begin(), [](char a, char b) {
          return a == std::tolower(static_cast<unsigned char>(b));
        })) {
      std::string_view value = line.substr(colon + 1);
      while (value.starts_with(' ')) value.remove_prefix(1);
      return std::string(value);
    }
    head.remove_prefix(std::min(end + 2, head.size()));
  }
  return {};
}

}  // namespace

namespace rpc_fault {

RpcFault late(int time_ms) {
  return [=](RpcReply& reply) { reply.late_ms = time_ms; };
}
RpcFault status(int http_status, const std::string& body) {
  return [=](RpcReply& reply) { reply = {.status = http_status, .body = body}; };
}
RpcFault error(int code, const std::string& message) {
  return [=](RpcReply& reply) { reply = rpc_error(code, message); };
}
RpcFault body(const std::string& text) {
  return [=](RpcReply& reply) { reply = {.body = text}; };
}
RpcFault result(const std::string& json) {
  return body("{\"result\":" + json + ",\"error\":null,\"id\":1}\n");
}
RpcFault of_block(ByteView raw) {
  return result("\"" + to_hex(raw) + "\"");
}
RpcFault corrupt() {
  return [](RpcReply& reply) {
    const bool is_json = reply.content_type == "application/json";
    char& last = is_json ? reply.body.at(end_of_text_result(reply) - 1) : reply.body.back();
    if (is_json)
      last = last == '0' ? '1' : '0';
    else
      last = static_cast<char>(last ^ 1);
  };
}
RpcFault bad_hex() {
  return [](RpcReply& reply) { reply.body.at(end_of_text_result(reply) - 1) = 'g'; };
}
RpcFault truncated_json() {
  return [](RpcReply& reply) { reply.body.resize(reply.body.size() / 2); };
}
RpcFault twice() {
  return [](RpcReply& reply) { reply.times = 2; };
}
RpcFault cut() {
  return [](RpcReply& reply) { reply.end = RpcReply::End::kCut; };
}
RpcFault close() {
  return [](RpcReply& reply) { reply.end = RpcReply::End::kClose; };
}
RpcFault hang() {
  return [](RpcReply& reply) { reply.end = RpcReply::End::kHang; };
}

}  // namespace rpc_fault

FakeBitcoind::FakeBitcoind(const std::vector<Bytes>& blocks, Options options)
    : options_(std::move(options)), server_([this](Stream& stream) { serve(stream); }) {
  CHECK(!blocks.empty());
  extend(blocks);
}

std::string FakeBitcoind::url() const {
  return fmt::format("http://{}{}127.0.0.1:{}", options_.user_password,
                     options_.user_password.empty() ? "" : "@", port());
}

void FakeBitcoind::push_block(const Bytes& raw) {
  const Hash256 hash = hash_of(raw);
  blocks_[printed(hash)] = {raw, chain_.size()};
  chain_.push_back(hash);
  chain::Block block;
  if (mempool_.empty() || !chain::decode_into(block, regtest(), raw)) return;
  for (const chain::Tx& tx : block.txs)
    std::erase_if(mempool_, [&](const auto& entry) { return entry.first == tx.id; });
}

void FakeBitcoind::extend(const std::vector<Bytes>& blocks) {
  std::lock_guard lock(mutex_);
  for (const Bytes& raw : blocks) push_block(raw);
}

void FakeBitcoind::reorganize(std::uint64_t fork_height, const std::vector<Bytes>& blocks) {
  std::lock_guard lock(mutex_);
  CHECK(fork_height < chain_.size());
  chain_.resize(fork_height + 1);
  for (const Bytes& raw : blocks) push_block(raw);
}

void FakeBitcoind::invalidate_tip() {
  std::lock_guard lock(mutex_);
  CHECK(chain_.size() > 1);
  chain_.pop_back();
}

void FakeBitcoind::prune_below(std::uint64_t height) {
  std::lock_guard lock(mutex_);
  prune_height_ = height;
}

std::uint64_t FakeBitcoind::height() const {
  std::lock_guard lock(mutex_);
  return chain_.size() - 1;
}

Hash256 FakeBitcoind::tip_hash() const {
  std::lock_guard lock(mutex_);
  return chain_.back();
}

void FakeBitcoind::add_to_mempool(const Hash256& id, Bytes raw) {
  std::lock_guard lock(mutex_);
  mempool_.emplace_back(id, std::move(raw));
}

void FakeBitcoind::remove_from_mempool(const Hash256& id) {
  std::lock_guard lock(mutex_);
  std::erase_if(mempool_, [&](const auto& entry) { return entry.first == id; });
}

std::set<Hash256> FakeBitcoind::mempool() const {
  std::lock_guard lock(mutex_);
  std::set<Hash256> ids;
  for (const auto& [id, raw] : mempool_) ids.insert(id);
  return ids;
}

void FakeBitcoind::apply(const feed::Emission& emission) {
  std::lock_guard lock(mutex_);
  const auto mempool = [&](const std::vector<feed::MempoolEvent>& events) {
    for (const feed::MempoolEvent& event : events) {
      const Hash256& id = event.seen ? event.seen->id : event.dropped;
      std::erase_if(mempool_, [&](const auto& entry) { return entry.first == id; });
      if (event.seen) mempool_.emplace_back(id, event.seen->wire);
    }
  };
  mempool(emission.before);
  chain_.resize(emission.height);
  push_block(emission.block);
  mempool(emission.after);
}

void FakeBitcoind::report_tip(std::optional<feed::RpcTip> tip) {
  std::lock_guard lock(mutex_);
  reported_tip_ = tip;
}

std::optional<FakeBitcoind::Request> FakeBitcoind::read_request(Stream& stream,
                                                                std::string& buffer) {
  std::size_t head_end;
  while ((head_end = buffer.find("\r\n\r\n")) == std::string::npos)
    if (!stream.read_some(buffer)) return std::nullopt;
  const std::string head = buffer.substr(0, head_end + 2);
  const std::size_t blank = head.find(' '), second = head.find(' ', blank + 1);
  if (second == std::string::npos) return std::nullopt;
  const std::string length = field(head, "content-length");
  const std::size_t body_size = length.empty() ? 0 : std::stoul(length);
  while (buffer.size() < head_end + 4 + body_size)
    if (!stream.read_some(buffer)) return std::nullopt;
  Request request{head.substr(0, blank), head.substr(blank + 1, second - blank - 1),
                  field(head, "authorization"), buffer.substr(head_end + 4, body_size)};
  buffer.erase(0, head_end + 4 + body_size);
  return request;
}

void FakeBitcoind::serve(Stream& stream) {
  std::string buffer;
  while (const auto request = read_request(stream, buffer)) {
    const RpcReply reply = answer(*request);
    if (reply.late_ms > 0 && !stream.pause_ms(reply.late_ms)) return;
    if (reply.end == RpcReply::End::kHang) return stream.wait_for_close();
    if (reply.end == RpcReply::End::kClose) return;
    const std::string whole =
        fmt::format("HTTP/1.1 {} Status\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n",
                    reply.status, reply.content_type, reply.body.size()) +
        reply.body;
    const std::string_view sent(whole);
    if (reply.end == RpcReply::End::kCut) {
      stream.write_all(sent.substr(0, whole.size() - reply.body.size() / 2 - 1));
      return;
    }
    for (std::size_t i = 0; i < reply.times; ++i)
      if (!stream.write_all(sent)) return;
  }
}

RpcReply FakeBitcoind::answer(const Request& request) {
  Call call{request.target, {}};
  RpcReply reply;
  if (request.method == "GET")
    reply = answer_rest(request.target, call);
  else if (!options_.user_password.empty() &&
           request.authorization != "Basic " + base64(options_.user_password))
    reply = {.status = 401, .content_type = "text/html"};
  else
    reply = answer_rpc(request, call);
  script_.answer(call.name, call.about, reply);
  return reply;
}

}  // namespace coffer::test
