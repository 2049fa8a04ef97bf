#include "token/json/csv.h"

#include <array>
#include <charconv>
#include <map>

#include "base/result.h"

namespace coffer::token {
namespace {

struct CsvLine {
  std::size_t number = 1;
  std::vector<std::string> fields;
};

// Reads one line after another; quoted fields may hold line ends.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // spreadsheets begin with one
  }

  bool at_end() const { return at_ >= text_.size(); }

  Result<CsvLine> next() {
    CsvLine line{line_, {}};
    for (;;) {
      line.fields.push_back(TRY(field()));
      if (at_end()) return line;
      const char c = text_[at_++];
      if (c == ',') continue;
      if (c == '\r' && !at_end() && text_[at_] == '\n') ++at_;
      ++line_;
      return line;
    }
  }

 private:
  Result<std::string> field() {
    if (!at_end() && text_[at_] == '"') return quoted();
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string found(text_.substr(at_, end - at_));
    at_ = end;
    if (found.contains('"'))
      return fail(Code::kInvalidInput, "line {}: a quotation mark within a field", line_);
    return found;
  }
  Result<std::string> quoted() {
    std::string found;
    for (++at_; !at_end(); ++at_) {
      if (text_[at_] != '"') {
        if (text_[at_] == '\n') ++line_;
        found += text_[at_];
        continue;
      }
      ++at_;
      if (at_end() || std::string_view(",\r\n").contains(text_[at_])) return found;
      if (text_[at_] != '"')
        return fail(Code::kInvalidInput, "line {}: text after a quoted field", line_);
      found += '"';
    }
    return fail(Code::kInvalidInput, "line {}: a quoted field does not end", line_);
  }

  std::string_view text_;
  std::size_t at_ = 0, line_ = 1;
};

constexpr std::array<std::string_view, 5> kColumns = {"username", "balance", "issuer", "subject",
                                                      "user_id"};

// Which column stands where.
Result<std::map<std::string_view, std::size_t>> read_header(const CsvLine& header) {
  std::map<std::string_view, std::size_t> columns;
  for (std::size_t i = 0; i < header.fields.size(); ++i) {
    const auto* known = std::ranges::find(kColumns, header.fields[i]);
    if (known == kColumns.end())
      return fail(Code::kInvalidInput, "line 1: unknown column '{}'; known are {}",
                  std::string_view(header.fields[i]).substr(0, 40), fmt::join(kColumns, ", "));
    if (!columns.emplace(*known, i).second)
      return fail(Code::kInvalidInput, "line 1: column '{}' is there twice", *known);
  }
  if (!columns.contains("username"))
    return fail(Code::kInvalidInput, "line 1: no column 'username'");
  return columns;
}

Result<std::int64_t> opening_balance(const std::string& text) {
  std::int64_t value = 0;
  if (text.empty()) return value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    return fail(Code::kInvalidInput, "balance: '{}' is no whole number from 0",
                std::string_view(text).substr(0, 40));
  return value;
}

Result<ImportRow> read_row(const CsvLine& line,
                           const std::map<std::string_view, std::size_t>& columns) {
  if (line.fields.size() != columns.size())
    return fail(Code::kInvalidInput, "{} fields, but {} columns", line.fields.size(),
                columns.size());
  const auto text = [&](std::string_view column) {
    const auto found = columns.find(column);
    return found == columns.end() ? std::string() : line.fields[found->second];
  };
  ImportRow row;
  row.username = text("username");
  row.balance = TRY(opening_balance(text("balance")));
  const std::string issuer = text("issuer"), subject = text("subject"), user = text("user_id");
  if (issuer.empty() != subject.empty())
    return fail(Code::kInvalidInput, "issuer and subject: give both or none");
  if (!issuer.empty()) row.identity = ExternalIdentity{issuer, subject};
  if (!user.empty()) row.user = TRY_IN("user_id", parse_uuid(user));
  return row;
}

}  // namespace

std::string csv_field(std::string_view text) {
  std::string out;
  if (!text.empty() && std::string_view("=+-@\t\r").contains(text.front())) out += '\'';
  out += text;
  if (out.find_first_of(",\"\r\n") == std::string::npos) return out;
  std::string quoted = "\"";
  for (const char c : out) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

Result<std::vector<ImportRow>> parse_import(std::string_view text) {
  if (text.size() > kMaxImportBytes)
    return fail(Code::kTooLarge, "{} bytes, at most {} are read", text.size(), kMaxImportBytes);
  CsvReader reader(text);
  const CsvLine header = TRY(reader.next());
  const auto columns = TRY(read_header(header));
  std::vector<ImportRow> rows;
  while (!reader.at_end()) {
    const CsvLine line = TRY(reader.next());
    if (line.fields.size() == 1 && line.fields[0].empty()) continue;  // an empty line
    if (rows.size() == kMaxImportRows)
      return fail(Code::kTooLarge, "more than {} members; divide the file", kMaxImportRows);
    rows.push_back(TRY_IN(fmt::format("line {}", line.number), read_row(line, columns)));
    rows.back().line = line.number;
  }
  if (rows.empty()) return fail(Code::kInvalidInput, "no members below the line of columns");
  return rows;
}

}  // namespace coffer::token
