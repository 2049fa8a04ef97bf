// A verb of an engine, such as lease or record, with the fields of its request declared once. The
// parser of the HTTP body, its JSON Schema and the command's options follow from the declaration,
// and both doors make the same Request of what they are given: a field that is added here is added
// everywhere.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>

#include "base/check.h"
#include "base/result.h"
#include "cli/output.h"
#include "json/reader.h"
#include "json/schema.h"
#include "node/command.h"

namespace coffer::node {

// A kind of value: how JSON writes it, and how it is typed.
template <typename T>
struct ValueKind {
  std::string schema;
  std::string expected;  // "a string", for the error if it is missing
  cli::Option option;    // kind, range, choices and placeholder of what is typed
  // Nothing if the body does not have the field. Errors: kInvalidInput and kTooLarge, naming it.
  std::function<Result<std::optional<T>>(const json::ObjectReader&, std::string_view name)>
      from_body;
  // Errors: kUsage for what is typed wrongly; others for a file that is named.
  std::function<Result<T>(const cli::Words&)> from_words;
};

// A number with ms, s, m, h, d or w, as 10m or 90d; from 1 ms to a hundred years. Thread-safe.
// Errors: kInvalidInput.
Result<std::int64_t> parse_duration_ms(std::string_view text);

// The kinds that more than one engine needs.
namespace kind {

ValueKind<std::string> text(std::string schema = json::schema::kText);
// One string in a body, one or more words on the command line.
ValueKind<std::vector<std::string>> texts(std::string schema = json::schema::kText);
ValueKind<bool> flag();
ValueKind<std::uint64_t> whole(cli::Range range);
// Milliseconds in a body, where `range` holds; "10m" on the command line.
ValueKind<std::uint64_t> duration(cli::Range range);

// A string, written alike in both. `parse` names the value in its errors, which are kInvalidInput.
template <typename T>
ValueKind<T> parsed(const std::function<Result<T>(std::string_view)>& parse, std::string schema,
                    std::string placeholder = {}) {
  ValueKind<T> kind{std::move(schema), "a string", {}, {}, {}};
  kind.option.value = std::move(placeholder);
  kind.from_body = [parse](const json::ObjectReader& body,
                           std::string_view name) -> Result<std::optional<T>> {
    const auto text = TRY(body.text_if(name));
    if (!text) return std::nullopt;
    return TRY(parse(*text));
  };
  kind.from_words = [parse](const cli::Words& words) {
    return cli::as_usage_error(parse(words.back()));
  };
  return kind;
}

}  // namespace kind

// How a field is typed: as an option ("--for") or an argument ("amount").
inline cli::Option typed(std::string name, std::string help, std::string placeholder = {},
                         std::string fallback = {}) {
  return {.name = std::move(name),
          .help = std::move(help),
          .value = std::move(placeholder),
          .fallback = std::move(fallback)};
}
inline cli::Option required(std::string name, std::string help) {
  return {.name = std::move(name), .help = std::move(help), .required = true};
}

template <typename Request>
struct VerbField {
  std::string name;  // in the body
  std::string schema, expected;
  cli::Option option;  // `required` holds for both doors; without a name it cannot be typed
  std::function<Result<>(const json::ObjectReader&, Request&)> from_body;
  std::function<Result<>(const cli::Words&, Request&)> from_words;
};

// Fields of which exactly one must be given; a flag that is false is not.
struct OneOf {
  std::vector<std::string> fields = {};
  std::string usage = {};  // what the command line says if it is not so
};

template <typename Request>
struct Verb {
  std::string schema;  // the name of the body's schema
  std::vector<VerbField<Request>> fields = {};
  OneOf one_of = {};
  // Rules between fields, after all of them were read; may complete the request.
  // Errors: kInvalidInput.
  std::function<Result<>(Request&)> check = {};

  // Adds a field: its name in the body, the member that takes its value, and how it is typed.
  // Whole numbers are converted to the member's type, which must hold their range.
  template <typename T, typename Member>
  Verb& add(const std::string& name, const ValueKind<T>& kind, Member member,
            cli::Option option = {}) {
    option.kind = kind.option.kind;
    option.range = kind.option.range;
    option.choices = kind.option.choices;
    if (option.value.empty()) option.value = kind.option.value;
    using Held = std::remove_reference_t<decltype(std::declval<Request&>().*member)>;
    using Value = typename cli::ValueType<Held>::Type;
    if constexpr (std::integral<Value> && !std::same_as<Value, bool>)
      CHECK(option.kind != cli::Kind::kNumber || std::in_range<Value>(option.range.max));
    const auto put = [member](Request& to, T value) {
      to.*member = static_cast<Value>(std::move(value));
    };
    const auto from_body = [name, read = kind.from_body, put](const json::ObjectReader& body,
                                                              Request& to) -> Result<> {
      if (auto value = TRY(read(body, name))) put(to, *std::move(value));
      return {};
    };
    const auto from_words = [read = kind.from_words, put](const cli::Words& words,
                                                          Request& to) -> Result<> {
      put(to, TRY(read(words)));
      return {};
    };
    fields.push_back({name, kind.schema, kind.expected, option, from_body, from_words});
    return *this;
  }
};

// All below are thread-safe.

Result<> check_one_of(const OneOf& rule, const json::ObjectReader& body);

template <typename Request>
std::vector<std::string_view> field_names(const Verb<Request>& verb) {
  std::vector<std::string_view> names;
  names.reserve(verb.fields.size());
  for (const VerbField<Request>& field : verb.fields) names.push_back(field.name);
  return names;
}

template <typename Request>
Result<Request> read_body(const Verb<Request>& verb, const json::ObjectReader& body) {
  TRY(check_one_of(verb.one_of, body));
  Request request{};
  for (const VerbField<Request>& field : verb.fields) {
    if (field.option.required && !body.find(field.name))
      return fail(Code::kInvalidInput, "{}: missing; expected {}", field.name, field.expected);
    TRY(field.from_body(body, request));
  }
  if (verb.check) TRY(verb.check(request));
  return request;
}

// The request of an HTTP body; an empty one stands for {}. A field that is unknown, missing, of
// another type or out of its range is an error that names it. Errors: kInvalidInput; kTooLarge.
template <typename Request>
Result<Request> parse_body(const Verb<Request>& verb, std::string_view text) {
  const auto body = TRY(json::ObjectReader::parse(text, field_names(verb)));
  return read_body(verb, body);
}

// The same of an object within a body, such as an element of a list.
template <typename Request>
Result<Request> parse_object(const Verb<Request>& verb, const json::Value& object) {
  const auto body = TRY(json::ObjectReader::of(object, field_names(verb)));
  return read_body(verb, body);
}

// Of a request that takes no fields. Errors: as above.
Result<> parse_empty_body(std::string_view text);

template <typename Request>
std::string body_schema(const Verb<Request>& verb) {
  json::schema::Properties properties;
  std::vector<std::string_view> required;
  for (const VerbField<Request>& field : verb.fields) {
    properties.emplace_back(field.name, field.schema);
    if (field.option.required) required.push_back(field.name);
  }
  return json::schema::object_of(properties, required, true);
}

// The request of a command line. Options are read before arguments, which may stand for a file or
// standard input. Errors: kUsage; those of files.
template <typename Request>
Result<Request> read_words(const Verb<Request>& verb, const cli::Invocation& given) {
  Request request{};
  std::size_t of_one = 0;
  for (const bool is_argument : {false, true}) {
    for (const VerbField<Request>& field : verb.fields) {
      const auto words = given.values.find(field.option.name);
      if (words == given.values.end() || field.option.is_positional() != is_argument) continue;
      TRY(field.from_words(words->second, request));
      if (std::ranges::count(verb.one_of.fields, field.name) != 0 &&
          !(field.option.kind == cli::Kind::kFlag && words->second.back() == "false"))
        ++of_one;
    }
  }
  if (!verb.one_of.fields.empty() && of_one != 1)
    return fail(Code::kUsage, "{}", verb.one_of.usage);
  if (verb.check) TRY(cli::as_usage_error(verb.check(request)));
  return request;
}

// The same verb for a command that leaves out one of the fields of which one must be given.
template <typename Request>
Verb<Request> without(Verb<Request> verb, std::string_view name) {
  std::erase_if(verb.fields, [&](const auto& field) { return field.name == name; });
  std::erase(verb.one_of.fields, name);
  if (verb.one_of.fields.size() == 1) {
    for (VerbField<Request>& field : verb.fields)
      if (field.name == verb.one_of.fields.front()) field.option.required = true;
    verb.one_of = {};
  }
  return verb;
}

// Completes a command with the options of a verb. `base` may have arguments of its own, such as the
// object that the verb is about: they come first, and `run` finds them in the Invocation.
template <typename Request>
cli::Command verb_command(
    cli::Command base, Verb<Request> verb,
    std::function<Result<>(const Context&, const cli::Invocation&, const Request&)> run) {
  for (const VerbField<Request>& field : verb.fields)
    if (!field.option.name.empty()) base.options.push_back(field.option);
  base.run = [verb = std::move(verb),
              run = std::move(run)](const cli::Invocation& given) -> Result<> {
    const Context context = TRY(make_context(given));
    const Request request = TRY(read_words(verb, given));
    return run(context, given, request);
  };
  return base;
}

}  // namespace coffer::node
