#include "base/log_stderr.h"
#include "base/printable.h"
#include "base/result.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace coffer::log {
namespace {

// As the setting log.level has them.
constexpr std::string_view kLevelNames[] = {"trace", "debug", "info", "warn", "error", "off"};

spdlog::level::level_enum to_spdlog(Level level) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::trace, spdlog::level::debug,
                                                   spdlog::level::info,  spdlog::level::warn,
                                                   spdlog::level::err,   spdlog::level::off};
  return kLevels[static_cast<int>(level)];
}

std::shared_ptr<spdlog::logger> make_logger(Format format) {
  auto logger =
      std::make_shared<spdlog::logger>("coffer", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  const char* pattern = format == Format::kJson ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":%v})"
                                                : "%Y-%m-%dT%H:%M:%S.%eZ %v";
  logger->set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
  logger->set_level(spdlog::level::trace);  // the sink has passed them already
  logger->flush_on(spdlog::level::trace);
  return logger;
}

// JSON string escapes; they serve text values with blanks or quotes as well.
void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  out += escaped(text);
  out += '"';
}

bool needs_quotes(std::string_view text) {
  return text.empty() || text.find_first_of(" =") != std::string_view::npos ||
         escaped(text) != text;
}

}  // namespace

void write_to_stderr(Level level, Format format) {
  set_sink(level, [format, logger = make_logger(format)](Level of, std::string_view event,
                                                         std::span<const Field> fields) {
    const bool json = format == Format::kJson;
    logger->log(to_spdlog(of), "{}{}{}{}", json ? "\"" : "", kLevelNames[static_cast<int>(of)],
                json ? "\"," : " ", render(format, event, fields));
  });
}

Result<Level> parse_level(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kLevelNames); ++i)
    if (kLevelNames[i] == name) return static_cast<Level>(i);
  return fail(Code::kUsage, "no log level '{}'; use trace, debug, info, warn, error or off", name);
}

std::string render(Format format, std::string_view event, std::span<const Field> fields) {
  std::string out;
  if (format == Format::kJson) {
    out += "\"event\":";
    append_quoted(out, event);
    for (const Field& field : fields) {
      out += ',';
      append_quoted(out, field.key);
      out += ':';
      if (field.is_text)
        append_quoted(out, field.value);
      else
        out += field.value;
    }
    return out;
  }
  out += event;
  for (const Field& field : fields) {
    out += ' ';
    out += field.key;
    out += '=';
    if (field.is_text && needs_quotes(field.value))
      append_quoted(out, field.value);
    else
      out += field.value;
  }
  return out;
}

}  // namespace coffer::log
