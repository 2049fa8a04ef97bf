#include "node/snapshot.h"

#include "base/file.h"
#include "base/result.h"
#include "json/reader.h"
#include "json/writer.h"

namespace coffer::node {
namespace {

namespace fs = std::filesystem;

Result<fs::path> directory_of(std::string_view body) {
  const auto document = json::parse(body);
  const auto field = document ? document->find("directory") : std::nullopt;
  const auto directory = field ? field->string() : std::nullopt;
  if (!directory)
    return fail(Code::kInvalidInput, R"(the body must be {{"directory": "/absolute/path"}})");
  fs::path path(*directory);
  if (!path.is_absolute())
    return fail(Code::kInvalidInput, "directory: {} is not an absolute path", path.string());
  return path;
}

}  // namespace

Result<> make_snapshot(kv::Database& db, const fs::path& directory) {
  if (directory.has_parent_path()) TRY(make_directory(directory.parent_path()));
  // Of two that want the same directory one makes it, and only that one may remove it.
  TRY(make_new_directory(directory, 0700));
  auto made = db.checkpoint(directory / "db");
  if (made) return {};
  std::error_code ignored;
  fs::remove_all(directory, ignored);
  return made;
}

void add_snapshot_route(api::RouteTable& table, kv::Database& db) {
  table.add_schema(
      "Snapshot",
      R"({"type":"object","required":["directory"],"properties":{"directory":{"type":"string"}}})");
  table.add({.method = http::Method::kPost,
             .pattern = std::string(kSnapshotRoute),
             .summary = "Copy the whole database into a new directory on the server's disk",
             .scope = api::Scope::kWrite,
             .response_schema = "Snapshot",
             .request_schema = "Snapshot",
             .successes = {201},
             .handler = [&db](const http::Request& request) -> Result<http::Response> {
               const fs::path directory = TRY(directory_of(request.body));
               TRY(make_snapshot(db, directory));
               json::Writer out;
               out.begin_object().field("directory", directory.string()).end_object();
               http::Response response;
               response.status = 201;
               response.content_type = "application/json";
               response.body = out.take();
               return response;
             },
             .audited = {"directory"}});
}

}  // namespace coffer::node
