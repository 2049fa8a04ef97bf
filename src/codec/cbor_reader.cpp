#include "codec/cbor_reader.h"

#include <limits>
#include <vector>

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
  if (!items.indefinite) return;
  if (break_is_next())
    ++at_;
  else
    fail_here("an array of another length than expected");
}

namespace {

// The containers of indefinite length that are open, innermost last. Each entry holds how many
// items the level around it still owes, and what the container is. Allocates only beyond kInline
// levels.
class OpenContainers {
 public:
  enum Kind : std::uint8_t { kArray, kMap, kMapAwaitingValue, kChunkedBytes, kChunkedText };

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  void push(std::uint64_t owed, Kind kind) {
    const std::uint64_t entry = owed << 8 | kind;
    if (size_ < kInline)
      inline_[size_] = entry;
    else
      more_.push_back(entry);
    ++size_;
  }
  std::uint64_t pop() {
    const std::uint64_t owed = top() >> 8;
    if (size_ > kInline) more_.pop_back();
    --size_;
    return owed;
  }
  Kind kind() { return static_cast<Kind>(top() & 0xff); }
  void set_kind(Kind kind) { top() = (top() & ~std::uint64_t{0xff}) | kind; }

 private:
  static constexpr std::size_t kInline = 32;
  std::uint64_t& top() { return size_ > kInline ? more_.back() : inline_[size_ - 1]; }

  std::uint64_t inline_[kInline];
  std::vector<std::uint64_t> more_;
  std::size_t size_ = 0;
};

}  // namespace

// Containers of definite length need no stack: an item that is one only adds its items to those
// still owed. What is owed never exceeds the bytes that are left, so memory and time are linear in
// the input however deeply it nests (E12).
ByteView CborReader::skip() {
  using Open = OpenContainers;
  Open open;
  const std::size_t start = at_;
  std::uint64_t owed = 1;  // items before the innermost level is complete
  while (!fault_) {
    Open::Kind chunks = Open::kArray;  // of which kind this item has to be a chunk, if any
    if (owed == 0) {
      if (open.empty()) return since(start);
      const Open::Kind kind = open.kind();
      if (break_is_next()) {
        ++at_;
        if (kind == Open::kMapAwaitingValue) fail_here("a map key without its value");
        owed = open.pop();
        continue;
      }
      if (kind == Open::kMap) open.set_kind(Open::kMapAwaitingValue);
      if (kind == Open::kMapAwaitingValue) open.set_kind(Open::kMap);
      chunks = kind;
      owed = 1;
    }
    const std::size_t item = at_;
    const Head head = read_head();
    if (fault_) break;
    --owed;
    if (chunks == Open::kChunkedBytes || chunks == Open::kChunkedText) {
      const std::uint8_t major = chunks == Open::kChunkedBytes ? kBytesMajor : kTextMajor;
      if (head.major != major || head.indefinite) fail_at("a chunk of another kind", item);
    }
    const std::uint64_t left = data_.size() - at_;
    if (head.indefinite) {
      // Each open container takes a byte at least to end.
      if (owed + open.size() + 1 > left) fail_at("unexpected end", data_.size());
      open.push(owed, head.major == kArrayMajor   ? Open::kArray
                      : head.major == kMapMajor   ? Open::kMap
                      : head.major == kBytesMajor ? Open::kChunkedBytes
                                                  : Open::kChunkedText);
      owed = 0;
    } else if (head.major == kBytesMajor || head.major == kTextMajor) {
      if (head.value > left)
        fail_at("a string longer than the input", item);
      else
        at_ += head.value;
    } else if (head.major == kArrayMajor || head.major == kMapMajor) {
      const std::uint64_t items_each = head.major == kMapMajor ? 2 : 1;
      if (head.value > left / items_each || owed + open.size() + head.value * items_each > left)
        fail_at("more items than the input can hold", item);
      owed += head.value * items_each;
    } else if (head.major == kTagMajor) {
      ++owed;
    }
  }
  return {};
}

}  // namespace coffer::codec
