#include "node/daemon.h"

#include <cctype>

#include "api/auth.h"
#include "base/error_table.h"
#include "base/file.h"
#include "base/result.h"
#include "http/client.h"
#include "json/reader.h"
#include "node/node.h"

namespace coffer::node {

namespace fs = std::filesystem;

Result<std::optional<http::Response>> ask_daemon(const config::Config& config,
                                                 const DaemonRequest& request) {
  http::ClientOptions options;
  options.local_socket = fs::path(config.data_dir) / kSocketFile;
  options.timeout = request.timeout;
  options.body = request.body;
  if (!request.body.empty()) options.headers.push_back({"Content-Type", "application/json"});
  if (auto token = read_file(fs::path(config.data_dir) / api::kTokenFile, 256)) {
    std::string text(as_text(*token));
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
    options.headers.push_back({"Authorization", "Bearer " + text});
  }
  auto answer = http::request(request.method, "http://localhost" + request.target, options);
  if (!answer && answer.error().code == Code::kNotFound) return std::nullopt;
  if (!answer)
    return fail(
        std::move(answer).error().in(fmt::format("the coffer that serves {}", config.data_dir)));
  if (answer->status >= 400) return fail(read_problem(*answer));
  return std::move(*answer);
}

Error read_problem(const http::Response& answer) {
  const auto document = json::parse(answer.content());
  const auto text_of = [&](std::string_view name) -> std::string {
    const auto member = document ? document->find(name) : std::nullopt;
    const auto text = member ? member->string() : std::nullopt;
    return std::string(text.value_or(""));
  };
  // The server's own codes, such as too_many_failures, are no codes of errors.
  const Code code = code_named(text_of("code"))
                        .value_or(answer.status == 429 || answer.status == 408 ? Code::kUnavailable
                                  : answer.status < 500                        ? Code::kInvalidInput
                                                        : Code::kUnavailable);
  std::string detail = text_of("detail");
  if (detail.empty()) detail = fmt::format("the answer has status {}; see its log", answer.status);
  Error error = make_error(code, std::move(detail));
  error.reason = text_of("reason");
  return error;
}

}  // namespace coffer::node
