#include "wallet/descriptor/key_expression.h"
#include "base/result.h"

namespace coffer::wallet {
namespace {

constexpr std::size_t kMaxDepth = 255;  // of BIP32

void append_path(std::string& out, const std::vector<std::uint32_t>& path, char mark) {
  for (const std::uint32_t step : path) {
    out += fmt::format("/{}", step & ~crypto::kHardened);
    if ((step & crypto::kHardened) != 0) out += mark;
  }
}

}  // namespace

// Reads one key expression. Not thread-safe; used once.
class KeyParser {
 public:
  explicit KeyParser(const KeyRules& rules) : rules_(rules) {}

  Result<ParsedKey> parse(Piece text) {
    if (text.text.starts_with('[')) {
      const std::size_t end = text.text.find(']');
      if (end == std::string_view::npos) return fail_at(text.at, "the key origin has no ']'");
      TRY(parse_origin(text.part(1, end - 1)));
      text = text.part(end + 1);
    }
    if (const std::size_t stray = text.text.find(']'); stray != std::string_view::npos)
      return fail_at(text.at + stray, "a ']' that closes no key origin");
    const std::vector<Piece> pieces = split(text, '/');
    const Piece key = pieces.front();
    if (key.text.empty()) return fail_at(key.at, "a key is missing");
    if (crypto::is_private_key(key.text))
      return fail(crypto::refuse_private_key().error().in(position_of(key)));
    if (!has_only_hex_digits(key.text)) {
      TRY(parse_root(key));
      for (std::size_t i = 1; i < pieces.size(); ++i) TRY(parse_path_piece(pieces[i]));
      TRY(walk(key));
    } else if (pieces.size() > 1) {
      return fail_at(pieces[1].at, "only an extended key can be followed by a path");
    } else {
      TRY(parse_plain(key));
    }
    return std::move(out_);
  }

 private:
  static std::string position_of(Piece text) { return fmt::format("position {}", text.at); }

  Result<> parse_origin(Piece text) {
    const std::vector<Piece> pieces = split(text, '/');
    const std::string_view fingerprint = pieces.front().text;
    if (fingerprint.size() != 2 * crypto::Fingerprint::kSize || !has_only_hex_digits(fingerprint))
      return fail_at(text.at, "a key origin begins with a fingerprint of 8 hexadecimal digits");
    KeyOrigin origin;
    origin.fingerprint = crypto::Fingerprint::from(from_hex(fingerprint).value().data());
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      const std::uint32_t step = TRY(parse_step(pieces[i]));
      TRY(add_step(origin.path, step, pieces[i]));
    }
    out_.key.origin_ = std::move(origin);
    return {};
  }

  Result<> parse_plain(Piece hex) {
    if (hex.text.size() % 2 != 0)
      return fail_at(hex.at, "a key with an odd number of hexadecimal digits");
    Bytes key = TRY(from_hex(hex.text));
    if (rules_.x_only && key.size() == crypto::XOnlyKey::kSize) {
      TRY_IN(position_of(hex), crypto::parse_x_only_key(key));
    } else {
      const crypto::PublicKey checked = TRY_IN(position_of(hex), crypto::parse_public_key(key));
      if (key.size() != checked.size() && !rules_.uncompressed)
        return fail_at(hex.at, "an uncompressed key cannot be used here");
      if (rules_.x_only) key.assign(checked.begin() + 1, checked.end());
    }
    out_.key.plain_ = std::move(key);
    return {};
  }

  Result<> parse_root(Piece text) {
    out_.key.root_ =
        TRY_IN(position_of(text) + ": not a key", crypto::ExtendedPublicKey::parse(text.text));
    if (out_.key.root_->version != rules_.xpub_version)
      return fail_at(text.at, "an extended key of another network than {}", rules_.network);
    return {};
  }

  // A step, alternatives of steps, or the wildcard at the end.
  Result<> parse_path_piece(Piece text) {
    KeyExpression& key = out_.key;
    if (key.is_ranged()) return fail_at(text.at, "a path ends at its '*'");
    if (text.text == "*") {
      key.wildcard_ = Wildcard::kPlain;
      return {};
    }
    if (text.text == "*h" || text.text == "*'") {
      key.wildcard_ = Wildcard::kHardened;
      // A step of the path before it decides, as in Bitcoin Core, whose checksums cover the marks.
      if (!mark_in_path_) set_mark(text.text[1]);
      return {};
    }
    const std::uint32_t step =
        TRY(text.text.starts_with('<') ? parse_branches(text) : parse_step(text));
    mark_in_path_ = mark_in_path_ || (step & crypto::kHardened) != 0;
    return add_step(key.path_, step, text);
  }

  // "<0;1>": the step of the branch asked for.
  Result<std::uint32_t> parse_branches(Piece text) {
    if (!text.text.ends_with('>')) return fail_at(text.at, "alternatives that do not end with '>'");
    if (out_.branches > 1) return fail_at(text.at, "a second list of alternatives in one key");
    const std::vector<Piece> pieces = split(text.part(1, text.text.size() - 2), ';');
    if (pieces.size() < 2 || pieces.size() > kMaxBranches)
      return fail_at(text.at, "a list of alternatives has 2 to {}", kMaxBranches);
    std::vector<std::uint32_t> steps;
    for (const Piece piece : pieces) {
      const std::uint32_t step = TRY(parse_step(piece));
      if (std::find(steps.begin(), steps.end(), step) != steps.end())
        return fail_at(piece.at, "an alternative that is there already");
      steps.push_back(step);
    }
    out_.branches = steps.size();
    return steps[std::min(rules_.branch, steps.size() - 1)];
  }

  Result<std::uint32_t> parse_step(Piece text) {
    std::uint32_t hardened = 0;
    if (text.text.ends_with('h') || text.text.ends_with('\'')) {
      hardened = crypto::kHardened;
      set_mark(text.text.back());
      text.text.remove_suffix(1);
    }
    const auto number = parse_decimal(text.text);
    if (!number || *number >= crypto::kHardened)
      return fail_at(text.at, "a step of a path is a number below 2^31, or that and h or '");
    return *number | hardened;
  }

  static Result<> add_step(std::vector<std::uint32_t>& path, std::uint32_t step, Piece text) {
    if (path.size() == kMaxPathSteps)
      return fail_at(text.at, "a path of more than {} steps", kMaxPathSteps);
    path.push_back(step);
    return {};
  }

  void set_mark(char mark) {
    out_.key.mark_ = mark == 'h' ? HardenedMark::kH : HardenedMark::kApostrophe;
  }

  Result<> walk(Piece text) {
    KeyExpression& key = out_.key;
    if (key.root_->depth + key.path_.size() + key.is_ranged() > kMaxDepth)
      return fail_at(text.at, "a path that leads below depth {}", kMaxDepth);
    for (const std::uint32_t step : key.path_)
      if ((step & crypto::kHardened) != 0) return {};
    key.base_ = TRY(key.root_->derive(key.path_));
    return {};
  }

  const KeyRules& rules_;
  ParsedKey out_;
  bool mark_in_path_ = false;  // a step of the path was hardened
};

Result<ParsedKey> parse_key_expression(Piece text, const KeyRules& rules) {
  return KeyParser(rules).parse(text);
}

Result<Bytes> KeyExpression::derive(std::uint32_t index) const {
  if (!root_) return plain_;
  const auto bytes = [](const crypto::PublicKey& key) { return Bytes(key.begin(), key.end()); };
  if (!base_) return bytes(TRY(root_->derive(path_)).key);  // says which step is hardened
  if (!is_ranged()) return bytes(base_->key);
  if (index >= crypto::kHardened)
    return fail(Code::kInvalidInput, "the index {} is not below 2^31", index);
  const std::uint32_t step = wildcard_ == Wildcard::kHardened ? index | crypto::kHardened : index;
  return bytes(TRY(base_->derive(step)).key);
}

std::string KeyExpression::text(std::optional<HardenedMark> asked) const {
  const char mark = asked.value_or(mark_) == HardenedMark::kH ? 'h' : '\'';
  std::string out;
  if (origin_) {
    out += "[" + origin_->fingerprint.hex();
    append_path(out, origin_->path, mark);
    out += "]";
  }
  out += root_ ? root_->text() : to_hex(plain_);
  append_path(out, path_, mark);
  if (is_ranged()) out += "/*";
  if (wildcard_ == Wildcard::kHardened) out += mark;
  return out;
}

}  // namespace coffer::wallet
