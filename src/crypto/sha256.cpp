// Padding, the incremental hash, and the choice between implementations.
#include "crypto/sha256.h"

#include <atomic>

#include "base/check.h"
#include "crypto/sha256_impl.h"

namespace coffer::crypto {
namespace {

using detail::kSha256Init;
using detail::Sha256Ops;
using State = std::array<std::uint32_t, 8>;

const Sha256Ops* ops_of(Sha256Impl impl) {
  return impl == Sha256Impl::kPortable ? &detail::kSha256Portable : detail::sha256_shani();
}

const Sha256Ops* fastest() {
  const Sha256Ops* shani = detail::sha256_shani();
  return shani != nullptr ? shani : &detail::kSha256Portable;
}

std::atomic<const Sha256Ops*> forced{nullptr};

const Sha256Ops& ops() {
  static const Sha256Ops* const best = fastest();
  const Sha256Ops* chosen = forced.load(std::memory_order_relaxed);
  return chosen != nullptr ? *chosen : *best;
}

Hash256 digest_of(const State& state) {
  Hash256 digest;
  for (std::size_t i = 0; i < 8; ++i) store_be32(digest.data() + 4 * i, state[i]);
  return digest;
}

// The last `tail` bytes of a message of `length`, then 0x80, zeros and the length in bits.
void close(State& state, const std::uint8_t* tail, std::uint64_t length) {
  std::array<std::uint8_t, 128> block{};
  const std::size_t rest = length % 64;
  if (rest > 0) std::memcpy(block.data(), tail, rest);
  block[rest] = 0x80;
  const std::size_t blocks = rest < 56 ? 1 : 2;
  store_be64(block.data() + 64 * blocks - 8, length * 8);
  ops().transform(state.data(), block.data(), blocks);
}

State state_of(ByteView data) {
  State state = kSha256Init;
  const std::size_t blocks = data.size() / 64;
  if (blocks > 0) ops().transform(state.data(), data.data(), blocks);
  close(state, data.data() + 64 * blocks, data.size());
  return state;
}

// The digest of a digest: one block, most of whose bytes are known.
Hash256 hash_again(const State& first) {
  std::array<std::uint8_t, 64> block;
  for (std::size_t i = 0; i < 8; ++i) {
    store_be32(block.data() + 4 * i, first[i]);
    store_be32(block.data() + 32 + 4 * i, detail::kPaddingAfter32[i]);
  }
  State state = kSha256Init;
  ops().transform(state.data(), block.data(), 1);
  return digest_of(state);
}

}  // namespace

Hash256 sha256(ByteView data) {
  return digest_of(state_of(data));
}

Hash256 sha256d(ByteView data) {
  if (data.size() == 64) {
    Hash256 digest;
    ops().double_pairs(digest.data(), data.data(), 1);
    return digest;
  }
  return hash_again(state_of(data));
}

Sha256::Sha256() : state_(kSha256Init) {}

Sha256& Sha256::update(ByteView data) {
  const std::size_t waiting = length_ % 64;
  length_ += data.size();
  if (waiting > 0) {
    const std::size_t take = std::min(data.size(), 64 - waiting);
    if (take > 0) std::memcpy(buffer_.data() + waiting, data.data(), take);
    if (waiting + take < 64) return *this;
    ops().transform(state_.data(), buffer_.data(), 1);
    data = data.subspan(take);
  }
  const std::size_t blocks = data.size() / 64;
  if (blocks > 0) ops().transform(state_.data(), data.data(), blocks);
  data = data.subspan(64 * blocks);
  if (!data.empty()) std::memcpy(buffer_.data(), data.data(), data.size());
  return *this;
}

Hash256 Sha256::finish() {
  close(state_, buffer_.data(), length_);
  const Hash256 digest = digest_of(state_);
  *this = Sha256();
  return digest;
}

Hash256 Sha256::finish_double() {
  close(state_, buffer_.data(), length_);
  const Hash256 digest = hash_again(state_);
  *this = Sha256();
  return digest;
}

void sha256d_pairs(std::uint8_t* out, const std::uint8_t* in, std::size_t pairs) {
  ops().double_pairs(out, in, pairs);
}

bool sha256_available(Sha256Impl impl) {
  return ops_of(impl) != nullptr;
}

void sha256_force(std::optional<Sha256Impl> impl) {
  CHECK(!impl || sha256_available(*impl));
  forced.store(impl ? ops_of(*impl) : nullptr, std::memory_order_relaxed);
}

std::string_view sha256_active() {
  return ops().name;
}

}  // namespace coffer::crypto
