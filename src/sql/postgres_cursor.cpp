// Fields of PostgreSQL's binary rows, and rows fetched in portions.
#include "base/result.h"
#include "sql/postgres_impl.h"

namespace coffer::sql {
namespace {

// Type ids of the catalogue (pg_type); they never change.
enum TypeId : Oid {
  kBool = 16,
  kBytea = 17,
  kChar = 18,
  kName = 19,
  kInt8 = 20,
  kInt2 = 21,
  kInt4 = 23,
  kText = 25,
  kOid = 26,
  kJson = 114,
  kUnknown = 705,
  kBpchar = 1042,
  kVarchar = 1043,
  kNumeric = 1700,
  kVoid = 2278,
  kUuid = 2950,
};

constexpr int kRowsAtOnce = 1'000;

// A whole number of type numeric, as sum() over BIGINT gives; kOther if it does not fit.
Cell whole_number(ByteView data) {
  constexpr Cell kNoFit{Cell::Kind::kOther};
  constexpr std::uint16_t kPositive = 0, kNegative = 0x4000;
  constexpr std::int64_t kBase = 10'000;
  if (data.size() < 8) return kNoFit;
  const int digits = load_be16(data.data());
  const int weight = static_cast<std::int16_t>(load_be16(data.data() + 2));
  const std::uint16_t sign = load_be16(data.data() + 4);
  if (data.size() < 8 + 2 * static_cast<std::size_t>(digits)) return kNoFit;
  if (sign != kPositive && sign != kNegative) return kNoFit;
  std::int64_t value = 0;
  // Groups before the point are digits[0..weight], missing ones are zero. Summed up as negative
  // numbers, of which there is one more.
  for (int i = 0; i <= weight || i < digits; ++i) {
    const int group = i < digits ? load_be16(data.data() + 8 + 2 * static_cast<std::size_t>(i)) : 0;
    if (i > weight) {
      if (group != 0) return kNoFit;  // a fraction
    } else if (__builtin_mul_overflow(value, kBase, &value) ||
               __builtin_sub_overflow(value, std::int64_t{group}, &value)) {
      return kNoFit;
    }
  }
  if (sign == kPositive && __builtin_sub_overflow(std::int64_t{0}, value, &value)) return kNoFit;
  return {Cell::Kind::kInteger, value};
}

// A cursor of the server, a portion at a time.
class PgStream final : public PgCursor {
 public:
  PgStream(PostgresDriver& driver, std::string name, PgResult first)
      : PgCursor(std::move(first)), driver_(driver), name_(std::move(name)) {}
  ~PgStream() override {
    // In a failed transaction the server has closed it already.
    if (!driver_.in_transaction() || driver_.trouble() != Trouble::kNone) return;
    driver_.run_briefly("CLOSE " + name_);
  }

  Result<bool> next() override {
    if (++row_ < PQntuples(result_.get())) return true;
    if (PQntuples(result_.get()) < kRowsAtOnce) return false;
    TRY(driver_.ready());
    const std::string text = fetch(name_);
    const Statement one{text};
    auto results = TRY(driver_.exchange({&one, 1}, Naming::kUnnamed, Ending::kOpen));
    result_ = std::move(results.front());
    row_ = 0;
    return PQntuples(result_.get()) > 0;
  }
  static std::string fetch(const std::string& name) {
    return fmt::format("FETCH {} FROM {}", kRowsAtOnce, name);
  }

 private:
  PostgresDriver& driver_;
  const std::string name_;
};

}  // namespace

std::string PgCursor::name(int column) const {
  const char* name = PQfname(result_.get(), column);
  return name != nullptr ? name : "";
}

Cell PgCursor::cell(int column) const {
  const PGresult* result = result_.get();
  if (row_ < 0 || row_ >= PQntuples(result) || PQgetisnull(result, row_, column) != 0) return {};
  const ByteView data = {reinterpret_cast<const std::uint8_t*>(PQgetvalue(result, row_, column)),
                         static_cast<std::size_t>(PQgetlength(result, row_, column))};
  switch (PQftype(result, column)) {
    case kInt8: return {Cell::Kind::kInteger, static_cast<std::int64_t>(load_be64(data.data()))};
    case kInt4: return {Cell::Kind::kInteger, static_cast<std::int32_t>(load_be32(data.data()))};
    case kInt2: return {Cell::Kind::kInteger, static_cast<std::int16_t>(load_be16(data.data()))};
    case kOid: return {Cell::Kind::kInteger, load_be32(data.data())};
    case kNumeric: return whole_number(data);
    case kBool: return {Cell::Kind::kBool, data[0]};
    case kBytea:
    case kUuid: return {Cell::Kind::kBytes, 0, data};
    case kText:
    case kVarchar:
    case kBpchar:
    case kName:
    case kChar:
    case kJson:
    case kUnknown: return {Cell::Kind::kText, 0, data};
    case kVoid: return {};
    default: return {Cell::Kind::kOther};
  }
}

Result<std::unique_ptr<Cursor>> PostgresDriver::stream(std::string_view sql, const Params& params) {
  const std::string name = fmt::format("coffer_stream_{}", ++names_);
  const std::string declare = fmt::format("DECLARE {} NO SCROLL CURSOR FOR {}", name, sql);
  const std::string fetch = PgStream::fetch(name);
  const Statement both[] = {{declare, params}, {fetch}};
  auto results = TRY(exchange(both, Naming::kUnnamed, Ending::kOpen));
  return std::make_unique<PgStream>(*this, name, std::move(results.back()));
}

}  // namespace coffer::sql
