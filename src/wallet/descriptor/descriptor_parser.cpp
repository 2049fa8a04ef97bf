// Text to Descriptor. At most two wrappers can stand around a function, so nothing here recurses.
#include <coffer/chain/address.h>
#include "base/result.h"
#include "wallet/descriptor/descriptor.h"
#include "wallet/descriptor/descriptor_names.h"
#include "wallet/descriptor/descriptor_text.h"
#include "wallet/descriptor/scripts.h"

namespace coffer::wallet {
namespace {

constexpr std::size_t kMaxBareMultisigKeys = 3;  // nodes do not relay more

bool is_multi(DescriptorFunction function) {
  return function == DescriptorFunction::kMulti || function == DescriptorFunction::kSortedMulti;
}

struct Call {
  Piece name, arguments;
};

// "name(arguments)" and nothing after. What stands before the bracket may be a key: it is not
// repeated.
Result<Call> parse_call(Piece piece) {
  const std::size_t open = piece.text.find('(');
  if (open == std::string_view::npos)
    return fail_at(piece.at, "a function is needed here, such as wpkh(KEY)");
  if (!piece.text.ends_with(')'))
    return fail_at(piece.at + piece.text.size(), "the text does not end with ')'");
  return Call{piece.part(0, open), piece.part(open + 1, piece.text.size() - open - 2)};
}

// Reads one descriptor. Not thread-safe; used once.
class DescriptorParser {
 public:
  DescriptorParser(const chain::Network& network, std::size_t branch) : network_(network) {
    rules_.xpub_version = network.bitcoin.xpub_version;
    rules_.network = network.name;
    rules_.branch = branch;
  }

  Result<Descriptor> parse(std::string_view body) {
    Call call = TRY(parse_call({body, 0}));
    while (call.name.text == "sh" || call.name.text == "wsh") {
      TRY(add_wrap(call.name));
      call = TRY(parse_call(call.arguments));
    }
    TRY(set_function(call.name));
    using enum DescriptorFunction;
    if (out_.function == kAddr)
      TRY(parse_addr(call.arguments));
    else if (out_.function == kRaw)
      TRY(parse_raw(call.arguments));
    else if (is_multi(out_.function))
      TRY(parse_multi(call.arguments));
    else
      TRY(parse_single_key(call.arguments));
    return Descriptor(std::move(out_));
  }

  // How many alternatives the keys had. Valid after parse().
  std::size_t branches() const { return branches_; }

 private:
  Result<> add_wrap(Piece name) {
    using enum DescriptorWrap;
    const bool is_sh = name.text == "sh";
    if (out_.wrap == kNone)
      out_.wrap = is_sh ? kSh : kWsh;
    else if (out_.wrap == kSh && !is_sh)
      out_.wrap = kShWsh;
    else
      return fail_at(name.at, "{}() cannot stand inside {}()", name.text,
                     out_.wrap == kSh ? "sh" : "wsh");
    return {};
  }

  bool in_wsh() const {
    return out_.wrap == DescriptorWrap::kWsh || out_.wrap == DescriptorWrap::kShWsh;
  }

  Result<> set_function(Piece name) {
    const auto* found =
        std::find_if(std::begin(kFunctionNames), std::end(kFunctionNames),
                     [&](const FunctionName& known) { return known.name == name.text; });
    if (found == std::end(kFunctionNames))
      return fail_at(name.at,
                     "no function that Coffer knows; these are pk, pkh, wpkh, sh, wsh, tr, combo, "
                     "multi, sortedmulti, addr and raw");
    if (in_wsh() && !found->in_wsh)
      return fail_at(name.at, "{}() cannot stand inside wsh()", found->name);
    if (out_.wrap == DescriptorWrap::kSh && !found->in_sh)
      return fail_at(name.at, "{}() cannot stand inside sh()", found->name);
    out_.function = found->function;
    using enum DescriptorFunction;
    rules_.uncompressed = !in_wsh() && out_.function != kWpkh && out_.function != kTr;
    rules_.x_only = out_.function == kTr;
    return {};
  }

  Result<> parse_addr(Piece text) {
    out_.script =
        TRY_IN(fmt::format("position {}", text.at), chain::parse_address(network_, text.text));
    auto address = chain::address_text(network_, out_.script);
    if (!address) return fail_at(text.at, "an address that cannot be written");
    out_.address = std::move(*address);
    return {};
  }

  Result<> parse_raw(Piece text) {
    if (text.text.empty()) return fail_at(text.at, "a script is missing");
    if (text.text.size() > 2 * kMaxScriptBytes)
      return fail_at(text.at, "a script of more than {} bytes", kMaxScriptBytes);
    out_.script = TRY_IN(fmt::format("the script from position {}", text.at), from_hex(text.text));
    return {};
  }

  Result<> parse_single_key(Piece text) {
    if (const std::size_t comma = text.text.find(','); comma != std::string_view::npos) {
      if (out_.function == DescriptorFunction::kTr)
        return fail_at(text.at + comma, "script trees in tr() are not supported");
      return fail_at(text.at + comma, "{}() takes one key", name_of(out_.function).name);
    }
    return add_key(text);
  }

  Result<> add_key(Piece text) {
    ParsedKey parsed = TRY(parse_key_expression(text, rules_));
    if (parsed.branches > 1) {
      if (branches_ > 1 && branches_ != parsed.branches)
        return fail_at(text.at, "{} alternatives, where an earlier key has {}", parsed.branches,
                       branches_);
      branches_ = parsed.branches;
    }
    out_.keys.push_back(std::move(parsed.key));
    return {};
  }

  Result<> parse_multi(Piece text) {
    const std::vector<Piece> pieces = split(text, ',');
    const auto threshold = parse_decimal(pieces.front().text);
    if (!threshold || *threshold == 0)
      return fail_at(text.at, "a multisig begins with the number of signatures it needs");
    const bool bare = out_.wrap == DescriptorWrap::kNone;
    const std::size_t max_keys = bare ? kMaxBareMultisigKeys : kMaxMultisigKeys;
    if (pieces.size() < 2 || pieces.size() - 1 > max_keys)
      return fail_at(text.at, "{} keys, where a multisig{} has 1 to {}", pieces.size() - 1,
                     bare ? " outside sh() and wsh()" : "", max_keys);
    for (std::size_t i = 1; i < pieces.size(); ++i) TRY(add_key(pieces[i]));
    if (*threshold > out_.keys.size())
      return fail_at(text.at, "{} signatures of {} keys are needed", *threshold, out_.keys.size());
    out_.threshold = *threshold;
    return out_.wrap == DescriptorWrap::kSh ? check_redeem_script(text.at) : Result<>{};
  }

  // Its size without deriving: the numbers and the opcode have a byte each up to 16 keys.
  Result<> check_redeem_script(std::size_t at) const {
    std::size_t size = 3;
    for (const KeyExpression& key : out_.keys) size += 1 + key.key_bytes();
    if (size <= kMaxRedeemScriptBytes) return {};
    return fail_at(at, "a script of {} bytes is too large for sh(), which takes {}", size,
                   kMaxRedeemScriptBytes);
  }

  const chain::Network& network_;
  KeyRules rules_;
  std::size_t branches_ = 1;
  Descriptor::Parts out_;
};

}  // namespace

Result<std::vector<Descriptor>> parse_descriptors(const chain::Network& network,
                                                  std::string_view text) {
  if (network.family != chain::Family::kBitcoin)
    return fail(Code::kInvalidInput, "output descriptors belong to Bitcoin, not to {}",
                network.chain_name());
  const std::string_view body = TRY(without_checksum(text));
  std::vector<Descriptor> all;
  for (std::size_t branch = 0, branches = 1; branch < branches; ++branch) {
    DescriptorParser parser(network, branch);
    all.push_back(TRY(parser.parse(body)));
    branches = parser.branches();
  }
  return all;
}

Result<Descriptor> parse_descriptor(const chain::Network& network, std::string_view text) {
  std::vector<Descriptor> all = TRY(parse_descriptors(network, text));
  if (all.size() > 1)
    return fail(Code::kInvalidInput, "the descriptor's alternatives <…> stand for {} descriptors",
                all.size());
  return std::move(all.front());
}

}  // namespace coffer::wallet
