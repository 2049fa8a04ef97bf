#include "node/daemon.h"

#include <cctype>
#include <csignal>
#include <filesystem>

#include "api/auth.h"
#include "base/file.h"
#include "base/result.h"
#include "http/client.h"
#include "json/reader.h"
#include "node/node.h"

namespace coffer::node {
namespace {

namespace fs = std::filesystem;

struct RunFile {
  std::string url;
  pid_t pid = 0;
};

// What a serving process left behind, whether or not it still runs.
std::optional<RunFile> read_run_file(const config::Config& config) {
  auto bytes = read_file(fs::path(config.data_dir) / kRunFile, 4096);
  if (!bytes) return std::nullopt;
  const auto document = json::parse(as_text(*bytes));
  const auto url = document ? document->find("url") : std::nullopt;
  const auto pid = document ? document->find("pid") : std::nullopt;
  if (!url || !url->string() || !pid || !pid->int64()) return std::nullopt;
  return RunFile{*url->string(), static_cast<pid_t>(*pid->int64())};
}

}  // namespace

Result<std::optional<http::Response>> ask_daemon(const config::Config& config,
                                                 const DaemonRequest& request) {
  const auto run = read_run_file(config);
  if (!run || (::kill(run->pid, 0) != 0 && errno == ESRCH)) return std::nullopt;
  http::ClientOptions options;
  options.timeout = request.timeout;
  options.body = request.body;
  if (!request.body.empty()) options.headers.push_back({"Content-Type", "application/json"});
  if (auto token = read_file(fs::path(config.data_dir) / api::kTokenFile, 256)) {
    std::string text(as_text(*token));
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
    options.headers.push_back({"Authorization", "Bearer " + text});
  }
  if (!config.http.tls.cert.empty()) options.ca_file = config.http.tls.cert;
  auto answer = http::request(request.method, run->url + request.target, options);
  // Refused: the file is left from a killed process whose number another one has now.
  if (!answer && answer.error().code == Code::kUnavailable) return std::nullopt;
  if (!answer) return fail(std::move(answer).error());
  return std::move(*answer);
}

}  // namespace coffer::node
