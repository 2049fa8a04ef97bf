// What the library itself uses besides <coffer/base/result.h>: errors with formatted messages, and
// TRY.
#pragma once

#include <coffer/base/result.h>
#include <coffer/base/strong.h>

#include <fmt/format.h>

namespace coffer {

// return fail(Code::kNotFound, "no block {}", n);
template <typename... Args>
[[nodiscard]] std::unexpected<Error> fail(Code code, fmt::format_string<Args...> format,
                                          Args&&... args) {
  return std::unexpected(make_error(code, fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace coffer

template <typename Tag>
struct fmt::formatter<coffer::StrongU64<Tag>> : fmt::formatter<std::uint64_t> {
  auto format(coffer::StrongU64<Tag> v, format_context& context) const {
    return fmt::formatter<std::uint64_t>::format(v.value, context);
  }
};

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
