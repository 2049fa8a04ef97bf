#include "wallet/descriptor/descriptor.h"

#include "base/result.h"
#include "wallet/descriptor/descriptor_names.h"
#include "wallet/descriptor/descriptor_text.h"
#include "wallet/descriptor/scripts.h"

namespace coffer::wallet {
namespace {

Bytes wrapped(DescriptorWrap wrap, Bytes script) {
  switch (wrap) {
    case DescriptorWrap::kNone: return script;
    case DescriptorWrap::kSh: return p2sh_script(script);
    case DescriptorWrap::kWsh: return p2wsh_script(script);
    case DescriptorWrap::kShWsh: return p2sh_script(p2wsh_script(script));
  }
  __builtin_unreachable();
}

Result<Bytes> taproot_script(ByteView key) {
  const auto internal = crypto::XOnlyKey::from(key.last(crypto::XOnlyKey::kSize).data());
  return p2tr_script(TRY(crypto::taproot_output_key(internal)));
}

std::vector<Bytes> combo_scripts(ByteView key) {
  std::vector<Bytes> scripts = {p2pk_script(key), p2pkh_script(key)};
  if (key.size() == crypto::PublicKey::kSize) {
    scripts.push_back(p2wpkh_script(key));
    scripts.push_back(p2sh_script(scripts.back()));
  }
  return scripts;
}

}  // namespace

bool Descriptor::is_ranged() const {
  return std::any_of(parts_.keys.begin(), parts_.keys.end(),
                     [](const KeyExpression& key) { return key.is_ranged(); });
}

Result<std::vector<Bytes>> Descriptor::derive(std::uint32_t index) const {
  std::vector<Bytes> keys;
  keys.reserve(parts_.keys.size());
  for (const KeyExpression& key : parts_.keys) keys.push_back(TRY(key.derive(index)));
  Bytes script;
  switch (parts_.function) {
    case DescriptorFunction::kPk: script = p2pk_script(keys[0]); break;
    case DescriptorFunction::kPkh: script = p2pkh_script(keys[0]); break;
    case DescriptorFunction::kWpkh: script = p2wpkh_script(keys[0]); break;
    case DescriptorFunction::kCombo: return combo_scripts(keys[0]);
    case DescriptorFunction::kTr: script = TRY(taproot_script(keys[0])); break;
    case DescriptorFunction::kSortedMulti: std::sort(keys.begin(), keys.end()); [[fallthrough]];
    case DescriptorFunction::kMulti: script = multisig_script(parts_.threshold, keys); break;
    case DescriptorFunction::kAddr:
    case DescriptorFunction::kRaw: script = parts_.script; break;
  }
  return std::vector<Bytes>{wrapped(parts_.wrap, std::move(script))};
}

std::string Descriptor::with_checksum(std::optional<HardenedMark> mark) const {
  const WrapName& wrap = name_of(parts_.wrap);
  std::string out = fmt::format("{}{}(", wrap.before, name_of(parts_.function).name);
  if (parts_.threshold > 0) out += fmt::format("{},", parts_.threshold);
  for (std::size_t i = 0; i < parts_.keys.size(); ++i)
    out += (i > 0 ? "," : "") + parts_.keys[i].text(mark);
  if (parts_.function == DescriptorFunction::kAddr) out += parts_.address;
  if (parts_.function == DescriptorFunction::kRaw) out += to_hex(parts_.script);
  out += ")";
  out += wrap.after;
  return out + "#" + descriptor_checksum(out).value();  // fails for foreign characters only
}

}  // namespace coffer::wallet
