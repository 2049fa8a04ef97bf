// Prints the double SHA-256 of bytes given as hex: what Bitcoin calls the id of a block or
// transaction.
//   $ example_hash_hex 68656c6c6f
//   9595c9df90075148eb06860365df33584b75bff782a510c6cd4883a419833d50
#include <cstdio>

#include "base/bytes.h"
#include "crypto/sha256.h"

namespace {

// Fallible functions return Result<T>; TRY passes an error on to the caller.
coffer::Result<std::string> hash_hex(std::string_view hex) {
  const coffer::Bytes bytes = TRY(coffer::from_hex(hex));
  return coffer::crypto::sha256d(bytes).hex();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: example_hash_hex HEX\n");
    return 2;
  }
  auto hash = hash_hex(argv[1]);
  if (!hash) {
    std::fprintf(stderr, "%s\n", hash.error().message.c_str());
    return coffer::info(hash.error().code).exit_code;
  }
  std::puts(hash->c_str());
  return 0;
}
