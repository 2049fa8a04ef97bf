// seed_corpus DATA CORPUS: real blocks, transactions, addresses and indexes, and what nodes answer,
// as first inputs for the fuzz targets, one directory each.
#include <cctype>
#include <cstdio>
#include <filesystem>

#include <coffer/chain/decode.h>
#include "base/file.h"
#include "base/result.h"
#include "codec/cbor_writer.h"
#include "feed/block_file.h"
#include "feed/devnet_chain.h"
#include "jwt_samples.h"

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

// The inputs of fuzz_rpc_answer: a byte for the status, then the body.
void add_rpc_answers(Corpus& corpus) {
  const std::string hash = "\"" + std::string(64, 'a') + "\"";
  feed::DevnetChain devnet({.seed = 1});
  const std::string block = "\"" + to_hex(devnet.next().block) + "\"";
  const auto add = [&](char status, const std::string& result, const std::string& error) {
    corpus.add("rpc_answer", as_bytes(status + std::string("{\"result\":") + result +
                                      ",\"error\":" + error + ",\"id\":1}\n"));
  };
  for (const std::string& result :
       {hash, block, std::string("null"), "[" + hash + "," + hash + "]", std::string("[]"),
        "{\"chain\":\"regtest\",\"blocks\":7,\"bestblockhash\":" + hash + ",\"pruned\":false}",
        "{\"txid\":" + hash + ",\"hex\":\"0200\",\"blockhash\":null,\"vin\":[{}]}",
        std::string(
            "[{\"type\":\"pubsequence\",\"address\":\"tcp://127.0.0.1:28332\",\"hwm\":1000}]")})
    add('0', result, "null");
  add('1', "null", "{\"code\":-1,\"message\":\"Block not available (pruned data)\"}");
  add('1', "null", "{\"code\":-28,\"message\":\"Loading block index\\u2026\"}");
  corpus.add("rpc_answer", as_bytes("1Work queue depth exceeded"));
}

// The inputs of fuzz_n2c_segments: a byte for the protocol and the pieces, then the segments.
void add_n2c_segments(Corpus& corpus) {
  using codec::CborWriter;
  const auto add = [&](std::uint8_t first, ByteView message) {
    for (const std::size_t segment : {std::size_t{1}, std::size_t{7}, std::size_t{12'288}}) {
      Bytes input = {first};
      for (std::size_t at = 0; at < message.size(); at += segment) {
        const ByteView part = message.subspan(at, std::min(segment, message.size() - at));
        append_be32(input, 99);
        append_be32(input, (first % 2 == 0 ? 0x8005'0000u : 0x8000'0000u) |
                               static_cast<std::uint32_t>(part.size()));
        append(input, part);
      }
      corpus.add("n2c_segments", input);
    }
  };
  Bytes accepted, refused;
  CborWriter(accepted).array(3).uint(1).uint(0x8015).array(2).uint(2).boolean(false);
  CborWriter(refused).array(2).uint(2).array(3).uint(2).uint(0x8015).text("not now");
  add(1, accepted);
  add(255, refused);
  feed::DevnetChain devnet({.family = chain::Family::kCardano, .seed = 1, .txs_per_block = 2});
  for (int i = 0; i < 5; ++i) {
    const feed::Emission emission = devnet.next();
    const auto end = [&](CborWriter writer) {
      writer.array(2).array(2).uint(20).bytes(emission.hash.view()).uint(emission.height);
    };
    Bytes forward, backward, found;
    end(CborWriter(forward).array(3).uint(2).tag(24).bytes(emission.block));
    end(CborWriter(backward).array(3).uint(3).array(2).uint(20).bytes(emission.hash.view()));
    end(CborWriter(found).array(3).uint(5).array(0));
    for (const Bytes* message : {&forward, &backward, &found})
      add(static_cast<std::uint8_t>(40 * i), *message);
  }
  add(0, Bytes{0x81, 0x01});
}

// The inputs of fuzz_jwt: a byte for what it is, then the text.
void add_jwts(Corpus& corpus) {
  const std::pair<char, std::string_view> samples[] = {{0, fuzz::kSignedWithEs256},
                                                       {0, fuzz::kSignedWithRs256},
                                                       {1, fuzz::kClaims},
                                                       {2, fuzz::kKeySet}};
  for (const auto& [kind, text] : samples)
    corpus.add("jwt", as_bytes(std::string(1, kind) + std::string(text)));
}

// The inputs of fuzz_http_request: what a client sends.
void add_http_requests(Corpus& corpus) {
  const std::string host = "Host: localhost\r\n", right = "Authorization: Bearer right\r\n";
  const std::string chunks = "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n";
  for (const std::string& request :
       {"GET /health HTTP/1.1\r\n" + host + "\r\n",
        std::string("GET /read/%41?q=a+b HTTP/1.0\r\n\r\n"),
        "HEAD /health HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n",
        "POST /write HTTP/1.1\r\n" + host + right + "Content-Length: 3\r\n\r\nabc",
        "POST /write HTTP/1.1\r\n" + host + right + "Transfer-Encoding: chunked\r\n\r\n" + chunks,
        "POST /write HTTP/1.1\r\n" + host + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
        "POST /write HTTP/1.1\r\n" + host + right +
            "Content-Length: 5\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + chunks,
        "GET http://localhost:7117/read/x HTTP/1.1\r\n" + host + "\r\nGET /health HTTP/1.1\r\n" +
            host + "\r\n"})
    corpus.add("http_request", as_bytes(request));
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
  add_rpc_answers(corpus);
  add_n2c_segments(corpus);
  add_jwts(corpus);
  add_http_requests(corpus);
  std::printf("%zu inputs from %s\n", corpus.count(), data.c_str());
  return 0;
}
