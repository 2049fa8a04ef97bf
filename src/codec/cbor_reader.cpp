#include "codec/cbor_reader.h"

#include <limits>

namespace coffer::codec {
namespace {

constexpr std::uint8_t kUintMajor = 0, kNegativeMajor = 1, kBytesMajor = 2, kTextMajor = 3,
                       kArrayMajor = 4, kMapMajor = 5, kTagMajor = 6, kSimpleMajor = 7;
constexpr std::uint8_t kFalse = 0xf4, kTrue = 0xf5, kNull = 0xf6, kUndefined = 0xf7,
                       kBreakByte = 0xff;

}  // namespace

CborType CborReader::type() const {
  if (at_end()) return CborType::kEnd;
  if (data_[at_] == kBreakByte) return CborType::kBreak;
  return static_cast<CborType>(data_[at_] >> 5);
}

CborReader::Head CborReader::read_head() {
  if (fault_) return {};
  if (at_ >= data_.size()) {
    fail_here("unexpected end");
    return {};
  }
  const std::size_t start = at_;
  const std::uint8_t first = data_[at_++];
  Head head{static_cast<std::uint8_t>(first >> 5), false, static_cast<std::uint8_t>(first & 31)};
  const std::uint8_t low = first & 31;
  if (low < 24) return head;
  if (low == 31) {
    if (head.major < kBytesMajor || head.major == kTagMajor || head.major == kSimpleMajor)
      fail_at("a length mark that is not allowed here", start);
    head.indefinite = true;
    return head;
  }
  if (low > 27) {
    fail_at("a reserved length code", start);
    return {};
  }
  const std::size_t width = std::size_t{1} << (low - 24);
  if (data_.size() - at_ < width) {
    fail_at("unexpected end", data_.size());
    return {};
  }
  const std::uint8_t* p = data_.data() + at_;
  at_ += width;
  switch (width) {
    case 1: head.value = *p; break;
    case 2: head.value = load_be16(p); break;
    case 4: head.value = load_be32(p); break;
    default: head.value = load_be64(p); break;
  }
  return head;
}

CborReader::Head CborReader::expect(std::uint8_t major, const char* what) {
  const std::size_t start = at_;
  Head head = read_head();
  if (!fault_ && head.major != major) fail_at(what, start);
  return fault_ ? Head{major, false, 0} : head;
}

std::uint64_t CborReader::read_uint() {
  return expect(kUintMajor, "expected an unsigned integer").value;
}

std::int64_t CborReader::read_int() {
  const std::size_t start = at_;
  Head head = read_head();
  if (fault_) return 0;
  if (head.major > kNegativeMajor) {
    fail_at("expected an integer", start);
    return 0;
  }
  if (head.value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    fail_at("an integer beyond 64 bits", start);
    return 0;
  }
  auto value = static_cast<std::int64_t>(head.value);
  return head.major == kUintMajor ? value : -1 - value;
}

ByteView CborReader::read_string(std::uint8_t major, const char* what) {
  const std::size_t start = at_;
  Head head = expect(major, what);
  if (fault_) return {};
  if (head.indefinite) {
    fail_at("a string in chunks where a plain one is expected", start);
    return {};
  }
  if (head.value > data_.size() - at_) {
    fail_at("a string longer than the input", start);
    return {};
  }
  ByteView view = data_.subspan(at_, head.value);
  at_ += head.value;
  return view;
}

ByteView CborReader::read_bytes() {
  return read_string(kBytesMajor, "expected bytes");
}

ByteView CborReader::read_bytes(std::size_t exact_length) {
  const std::size_t start = at_;
  ByteView view = read_bytes();
  if (!fault_ && view.size() != exact_length)
    fail_at("bytes of another length than expected", start);
  return fault_ ? ByteView{} : view;
}

ByteView CborReader::read_text() {
  return read_string(kTextMajor, "expected text");
}

bool CborReader::read_bool() {
  if (!at_end() && (data_[at_] == kTrue || data_[at_] == kFalse)) return data_[at_++] == kTrue;
  fail_here("expected true or false");
  return false;
}

std::uint64_t CborReader::read_tag() {
  return expect(kTagMajor, "expected a tag").value;
}

bool CborReader::try_tag(std::uint64_t tag) {
  if (type() != CborType::kTag) return false;
  CborReader ahead = *this;
  if (ahead.read_tag() != tag || !ahead.ok()) return false;
  *this = ahead;
  return true;
}

bool CborReader::try_null() {
  if (at_end() || (data_[at_] != kNull && data_[at_] != kUndefined)) return false;
  ++at_;
  return true;
}

CborItems CborReader::begin(std::uint8_t major, std::uint64_t bytes_per_item, const char* what) {
  const std::size_t start = at_;
  Head head = expect(major, what);
  if (fault_) return {};
  // Every item takes a byte at least, so a count beyond the input is a lie: refuse it before anyone
  // reserves for it.
  if (!head.indefinite && head.value > (data_.size() - at_) / bytes_per_item) {
    fail_at("more items than the input can hold", start);
    return {};
  }
  if (++depth_ > limits::kMaxCborDepth) {
    fail_at("nested too deeply", start);
    return {};
  }
  return {head.value, head.indefinite, false};
}

CborItems CborReader::begin_array() {
  return begin(kArrayMajor, 1, "expected an array");
}
CborItems CborReader::begin_map() {
  return begin(kMapMajor, 2, "expected a map");
}

bool CborReader::next(CborItems& items) {
  if (fault_ || items.ended) return false;
  if (items.indefinite) {
    if (!break_is_next()) {
      if (at_ < data_.size()) return true;
      fail_here("unexpected end");
      return false;
    }
    ++at_;
  } else if (items.left > 0) {
    --items.left;
    return true;
  }
  items.ended = true;
  --depth_;
  return false;
}

CborItems CborReader::begin_fixed(std::uint64_t count) {
  const std::size_t start = at_;
  CborItems items = begin_array();
  if (ok() && !items.indefinite && items.left != count)
    fail_at("an array of another length than expected", start);
  return items;
}

void CborReader::end_fixed(CborItems items) {
  if (fault_) return;
  --depth_;
  if (!items.indefinite) return;
  if (break_is_next())
    ++at_;
  else
    fail_here("an array of another length than expected");
}

ByteView CborReader::skip() {
  // An explicit stack of open containers: the input decides its height, the bound decides its
  // limit.
  struct Open {
    std::uint64_t left;
    bool indefinite;
    std::uint8_t chunk_major;  // nonzero inside a string in chunks
  };
  Open open[limits::kMaxCborDepth];
  unsigned height = 0;
  const std::size_t start = at_;
  do {
    if (height > 0 && open[height - 1].indefinite && break_is_next()) {
      ++at_;
      if (open[height - 1].left % 2 != 0) fail_here("a map key without its value");
      --height;
    } else {
      const std::size_t item = at_;
      if (height > 0) {
        Open& top = open[height - 1];
        if (top.indefinite)
          top.left ^= top.left == 2 ? 0 : 1;  // counts parity for maps only
        else
          --top.left;
      }
      Head head = read_head();
      if (fault_) return {};
      const bool in_chunks = height > 0 && open[height - 1].chunk_major != 0;
      if (in_chunks && (head.major != open[height - 1].chunk_major || head.indefinite))
        fail_at("a chunk of another kind", item);
      Open inner{0, false, 0};
      bool nested = false;
      switch (head.major) {
        case kBytesMajor:
        case kTextMajor:
          if (head.indefinite)
            nested = true, inner = {2, true, head.major};
          else if (head.value > data_.size() - at_)
            fail_at("a string longer than the input", item);
          else
            at_ += head.value;
          break;
        case kArrayMajor:
          nested = true;
          inner = head.indefinite ? Open{2, true, 0} : Open{head.value, false, 0};
          if (!head.indefinite && head.value > data_.size() - at_)
            fail_at("more items than the input can hold", item);
          break;
        case kMapMajor:
          nested = true;
          inner = head.indefinite ? Open{0, true, 0} : Open{head.value * 2, false, 0};
          if (!head.indefinite && head.value > (data_.size() - at_) / 2)
            fail_at("more items than the input can hold", item);
          break;
        case kTagMajor:
          nested = true;
          inner = {1, false, 0};
          break;
        default: break;
      }
      if (nested) {
        if (height == limits::kMaxCborDepth || depth_ + height >= limits::kMaxCborDepth)
          fail_at("nested too deeply", item);
        else
          open[height++] = inner;
      }
    }
    if (fault_) return {};
    while (height > 0 && !open[height - 1].indefinite && open[height - 1].left == 0) --height;
  } while (height > 0);
  return since(start);
}

}  // namespace coffer::codec
