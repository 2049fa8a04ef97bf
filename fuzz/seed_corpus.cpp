// seed_corpus DATA CORPUS: real blocks, transactions, addresses and indexes as first inputs for the
// fuzz targets, one directory each.
#include <cctype>
#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "chain/decode.h"
#include "feed/block_file.h"

namespace coffer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargest = 20'000;  // larger inputs only slow the search down
constexpr std::uint64_t kMaxFile = 64u << 20;

class Corpus {
 public:
  explicit Corpus(fs::path root) : root_(std::move(root)) {}
  void add(const char* target, ByteView input) {
    if (input.empty() || input.size() > kLargest) return;
    fs::create_directories(root_ / target);
    if (write_file_atomically(root_ / target / fmt::format("seed-{}", count_++), input)) return;
    std::fprintf(stderr, "cannot write into %s\n", root_.c_str());
  }
  std::size_t count() const { return count_; }

 private:
  const fs::path root_;
  std::size_t count_ = 0;
};

void add_blocks(Corpus& corpus, const char* chain, const char* name, const fs::path& file,
                std::size_t most) {
  const auto network = chain::find_network(chain, name).value();
  const auto data = read_file(file, kMaxFile);
  if (!data) return;
  const auto blocks = feed::split_blocks(network, *data);
  if (!blocks) return;
  chain::Block block;
  for (std::size_t i = 0; i < blocks->size() && i < most; ++i) {
    const Bytes& raw = (*blocks)[i];
    corpus.add(chain == std::string_view("bitcoin") ? "block_bitcoin" : "block_cardano", raw);
    corpus.add("cbor", raw);
    if (!chain::decode_into(block, network, raw)) continue;
    for (const chain::Tx& tx : block.txs) {
      corpus.add("transaction", tx.raw);
      for (const chain::Output& output : block.outputs_of(tx))
        corpus.add("address", output.address);
    }
  }
}

// The input of fuzz_chunk_index: two sizes, then both files.
void add_chunk(Corpus& corpus, fs::path file) {
  const auto chunk_size = fs::file_size(file);
  const auto primary = read_file(file.replace_extension(".primary"), kMaxFile);
  const auto secondary = read_file(file.replace_extension(".secondary"), kMaxFile);
  if (!primary || !secondary || primary->size() > 0xffff) return;
  Bytes input;
  append_le(input, static_cast<std::uint16_t>(primary->size()));
  append_le(input, static_cast<std::uint16_t>(chunk_size / 64));
  append(input, *primary);
  append(input, *secondary);
  corpus.add("chunk_index", input);
}

}  // namespace
}  // namespace coffer

int main(int argc, char** argv) {
  using namespace coffer;
  if (argc != 3) {
    std::fprintf(stderr, "usage: seed_corpus DATA CORPUS\n");
    return 2;
  }
  const fs::path data = argv[1];
  Corpus corpus(argv[2]);
  add_blocks(corpus, "bitcoin", "mainnet", data / "bitcoin/mainnet/blk00000.dat", 40);
  add_blocks(corpus, "bitcoin", "regtest",
             data / "bitcoin/regtest/kernel_regtest_blocks_1_to_206.hex", 206);
  for (const char* directory : {"cardano/pallas", "cardano/yaci", "cardano/amaru-block"}) {
    if (!fs::is_directory(data / directory)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(data / directory)) {
      if (entry.path().extension() == ".chunk")
        add_chunk(corpus, entry.path());
      else if (entry.is_regular_file())
        add_blocks(corpus, "cardano", "preprod", entry.path(), 4);
    }
  }
  std::printf("%zu inputs from %s\n", corpus.count(), data.c_str());
  return 0;
}
