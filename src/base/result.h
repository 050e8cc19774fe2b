// Result<T>: a value or an Error; Status: success or an Error. Both must be looked at.
//
//   Result<Digest> parse(...);
//   STRAKE_TRY(auto digest, parse(text));             // returns the error to the caller
//   STRAKE_TRY_CONTEXT(auto d, parse(text), "reading {}", path);
//   STRAKE_CHECK_OK(write(...));                      // same, for a Status
#pragma once

#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

#include "base/error.h"

namespace strake {

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  template <typename U = T>
    requires(std::is_constructible_v<T, U &&> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error>)
  Result(U&& value) : state_(std::forward<U>(value)) {}  // implicit on purpose: `return value;`
  Result(Error error) : state_(tl::unexpect, std::move(error)) {}

  explicit operator bool() const { return state_.has_value(); }
  bool ok() const { return state_.has_value(); }

  T& operator*() & { return *state_; }
  const T& operator*() const& { return *state_; }
  T&& operator*() && { return *std::move(state_); }
  T* operator->() { return &*state_; }
  const T* operator->() const { return &*state_; }

  T& value() & { return state_.value(); }
  const T& value() const& { return state_.value(); }
  T&& value() && { return std::move(state_).value(); }
  T value_or(T fallback) && { return std::move(state_).value_or(std::move(fallback)); }

  Error& error() & { return state_.error(); }
  const Error& error() const& { return state_.error(); }
  Error&& error() && { return std::move(state_).error(); }

  /// Adds what the caller was doing to the error, if there is one.
  template <typename... Args>
  Result context(fmt::format_string<Args...> text, Args&&... args) && {
    if (ok()) return std::move(*this);
    return std::move(state_.error()).context(fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  tl::expected<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : state_(tl::unexpect, std::move(error)) {}

  explicit operator bool() const { return state_.has_value(); }
  bool ok() const { return state_.has_value(); }
  Error& error() & { return state_.error(); }
  const Error& error() const& { return state_.error(); }
  Error&& error() && { return std::move(state_).error(); }

  template <typename... Args>
  Result context(fmt::format_string<Args...> text, Args&&... args) && {
    if (ok()) return {};
    return std::move(state_.error()).context(fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  tl::expected<void, Error> state_;
};

using Status = Result<void>;

/// Aborts with the location: for broken invariants of our own, never for input, network or disk.
[[noreturn]] void invariant_failed(const char* file, int line, const char* condition);

}  // namespace strake

#define STRAKE_CONCAT_INNER(a, b) a##b
#define STRAKE_CONCAT(a, b) STRAKE_CONCAT_INNER(a, b)

/// Declares `target` from a Result, or returns its error.
#define STRAKE_TRY(target, expression) STRAKE_TRY_INNER(STRAKE_CONCAT(strake_try_, __LINE__), target, expression)
#define STRAKE_TRY_INNER(result, target, expression)  \
  auto result = (expression);                         \
  if (!result.ok()) return std::move(result).error(); \
  target = *std::move(result)

#define STRAKE_TRY_CONTEXT(target, expression, ...) STRAKE_TRY(target, (expression).context(__VA_ARGS__))

/// Returns the error of a Status, if there is one.
#define STRAKE_CHECK_OK(expression)                                                                      \
  do {                                                                                                   \
    if (auto strake_status = (expression); !strake_status.ok()) return std::move(strake_status).error(); \
  } while (false)

#define STRAKE_INVARIANT(condition)                                               \
  do {                                                                            \
    if (!(condition)) ::strake::invariant_failed(__FILE__, __LINE__, #condition); \
  } while (false)
