// Result<T>: a value or an Error. Every fallible function returns one; nothing throws across
// modules.
#pragma once

#include <expected>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace coffer {

// A class of its own and no alias, so that every compiler warns when one is ignored: std::expected
// of libstdc++ 12 does not.
template <typename T = void>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using Base = std::expected<T, Error>;
  using Base::Base;
  Result() = default;
  Result(Base base) : Base(std::move(base)) {}
};

// return fail(Code::kNotFound, "no block {}", n);
template <typename... Args>
[[nodiscard]] std::unexpected<Error> fail(Code code, fmt::format_string<Args...> format,
                                          Args&&... args) {
  return std::unexpected(make_error(code, fmt::format(format, std::forward<Args>(args)...)));
}

[[nodiscard]] inline std::unexpected<Error> fail(Error error) {
  return std::unexpected(std::move(error));
}

}  // namespace coffer

// The value of an expression of type Result<T>, or a return of its error from the enclosing
// function.
#define TRY(...)                                                    \
  __extension__({                                                   \
    auto coffer_try_result = (__VA_ARGS__);                         \
    if (!coffer_try_result) [[unlikely]]                            \
      return std::unexpected(std::move(coffer_try_result).error()); \
    *std::move(coffer_try_result);                                  \
  })

// The same, with "context: " put before the error's message. The context is only built on failure.
#define TRY_IN(context, ...)                                                    \
  __extension__({                                                               \
    auto coffer_try_result = (__VA_ARGS__);                                     \
    if (!coffer_try_result) [[unlikely]]                                        \
      return std::unexpected(std::move(coffer_try_result).error().in(context)); \
    *std::move(coffer_try_result);                                              \
  })
