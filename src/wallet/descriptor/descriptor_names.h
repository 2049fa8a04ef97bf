// The functions of descriptors by name, and inside which others each may stand.
#pragma once

#include <iterator>

#include "wallet/descriptor/descriptor.h"

namespace coffer::wallet {

struct WrapName {
  DescriptorWrap wrap;
  std::string_view before, after;
};
inline constexpr WrapName kWrapNames[] = {
    {DescriptorWrap::kNone, "", ""},
    {DescriptorWrap::kSh, "sh(", ")"},
    {DescriptorWrap::kWsh, "wsh(", ")"},
    {DescriptorWrap::kShWsh, "sh(wsh(", "))"},
};
inline const WrapName& name_of(DescriptorWrap wrap) {
  return kWrapNames[static_cast<std::size_t>(wrap)];
}

struct FunctionName {
  DescriptorFunction function;
  std::string_view name;
  bool in_sh, in_wsh;
};
inline constexpr FunctionName kFunctionNames[] = {
    {DescriptorFunction::kPk, "pk", true, true},
    {DescriptorFunction::kPkh, "pkh", true, true},
    {DescriptorFunction::kWpkh, "wpkh", true, false},
    {DescriptorFunction::kCombo, "combo", false, false},
    {DescriptorFunction::kTr, "tr", false, false},
    {DescriptorFunction::kMulti, "multi", true, true},
    {DescriptorFunction::kSortedMulti, "sortedmulti", true, true},
    {DescriptorFunction::kAddr, "addr", false, false},
    {DescriptorFunction::kRaw, "raw", false, false},
};
inline const FunctionName& name_of(DescriptorFunction function) {
  return kFunctionNames[static_cast<std::size_t>(function)];
}

}  // namespace coffer::wallet
