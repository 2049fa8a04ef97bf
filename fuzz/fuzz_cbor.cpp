// Any bytes: the reader answers, and what it skips is well-formed when read item by item.
#include "base/check.h"
#include "codec/cbor_reader.h"

namespace {

using coffer::codec::CborReader;
using coffer::codec::CborType;

void walk(CborReader& reader) {
  switch (reader.type()) {
    case CborType::kArray:
      for (auto items = reader.begin_array(); reader.next(items);) walk(reader);
      return;
    case CborType::kMap:
      for (auto items = reader.begin_map(); reader.next(items);) walk(reader), walk(reader);
      return;
    case CborType::kTag: reader.read_tag(); return walk(reader);
    default: reader.skip();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  CborReader skipper({data, size}), walker({data, size});
  skipper.skip();
  walk(walker);
  // skip() counts tags as depth, a walk does not; in all else both agree.
  const bool deep = !skipper.ok() && std::string_view(skipper.fault().what) == "nested too deeply";
  if (walker.ok() && !deep) CHECK(skipper.ok() && skipper.offset() == walker.offset());
  (void)coffer::codec::is_canonical_cbor({data, size});
  return 0;
}
