// Result<T>: a value or an Error. Every fallible function returns one; nothing throws across
// modules.
#pragma once

#include <coffer/base/error.h>

#include <expected>
#include <utility>

namespace coffer {

// A class of its own and no alias, so that every compiler warns when one is ignored: std::expected
// of libstdc++ 12 does not.
template <typename T = void>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using Base = std::expected<T, Error>;
  using Base::Base;
  Result() = default;
  Result(Base base) : Base(std::move(base)) {}  // NOLINT(google-explicit-constructor)
};

[[nodiscard]] inline std::unexpected<Error> fail(Error error) {
  return std::unexpected(std::move(error));
}

}  // namespace coffer
