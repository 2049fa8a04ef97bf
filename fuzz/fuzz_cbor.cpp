// Any bytes: the reader answers, and what it skips is well-formed when read item by item.
#include <vector>

#include "base/check.h"
#include "codec/cbor_reader.h"

namespace {

using coffer::codec::CborReader;
using coffer::codec::CborType;

// Reads item by item, with the containers that are open on a stack of its own.
void walk(CborReader& reader) {
  struct Open {
    coffer::codec::CborItems items;
    bool is_map = false, value_next = false;
  };
  std::vector<Open> open;
  for (;;) {
    bool container = false;
    switch (reader.type()) {
      case CborType::kArray:
        open.push_back({reader.begin_array()});
        container = true;
        break;
      case CborType::kMap:
        open.push_back({reader.begin_map(), true});
        container = true;
        break;
      case CborType::kTag: reader.read_tag(); continue;
      default: reader.skip();
    }
    if (!reader.ok()) return;
    if (!container && !open.empty() && open.back().is_map) open.back().value_next ^= true;
    // Asks each container that may have ended whether it has more.
    while (!open.empty() && !open.back().value_next && !reader.next(open.back().items)) {
      if (!reader.ok()) return;
      open.pop_back();
      if (!open.empty() && open.back().is_map) open.back().value_next ^= true;
    }
    if (open.empty()) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  CborReader skipper({data, size}), walker({data, size});
  skipper.skip();
  walk(walker);
  if (walker.ok()) CHECK(skipper.ok() && skipper.offset() == walker.offset());
  (void)coffer::codec::is_canonical_cbor({data, size});
  return 0;
}
