#include "token/routes/communities.h"

#include <coffer/base/log.h>
#include "base/file.h"
#include "base/result.h"
#include "token/settings.h"

namespace coffer::token {
namespace {

// A name that is not known is looked up in the database only so often.
constexpr std::int64_t kListAgainMs = 1'000;

}  // namespace

Result<std::unique_ptr<Communities>> Communities::open(const config::Config& config,
                                                       const Clock& clock,
                                                       const sql::StopSignal* stop) {
  std::unique_ptr<Communities> made(new Communities(config, clock, stop));
  if (!has_files(config)) {
    sql::DatabaseOptions options = TRY(database_options(config, kDefaultCommunity));
    options.stop = stop;
    made->server_ = TRY(sql::Database::open(std::move(options)));
  }
  return made;
}

Store* Communities::find_open(std::string_view name) const {
  std::shared_lock lock(mutex_);
  const auto found = open_.find(name);
  return found == open_.end() ? nullptr : found->second.store.get();
}

Result<std::vector<std::string>> Communities::list() const {
  std::vector<std::string> names =
      server_ ? TRY(list_communities(*server_)) : TRY(list_communities(config_));
  const std::vector<std::string>& served = config_.of<Settings>().communities;
  if (!served.empty())
    std::erase_if(names, [&](const std::string& name) {
      return std::ranges::find(served, name) == served.end();
    });
  return names;
}

Result<Store*> Communities::open_one(const std::string& name) {
  Opened opened;
  sql::Database* database = server_.get();
  if (database == nullptr) {
    sql::DatabaseOptions options = TRY(database_options(config_, name));
    options.create_if_missing = false;
    options.stop = stop_;
    opened.database = TRY(sql::Database::open(std::move(options)));
    database = opened.database.get();
  }
  StoreOptions options;
  options.community = name;
  options.schema = server_ ? sql::Schema::kMustBeCurrent : sql::Schema::kMigrate;
  opened.store = TRY(Store::open(*database, std::move(options)));
  std::unique_lock lock(mutex_);
  return open_.emplace(name, std::move(opened)).first->second.store.get();
}

Result<Store*> Communities::find(std::string_view name) {
  if (Store* const open = find_open(name)) return open;
  std::lock_guard lock(opening_);
  if (Store* const open = find_open(name)) return open;
  const std::int64_t now = clock_.steady_ms();
  if (now - listed_at_ms_ >= kListAgainMs) {
    listed_ = TRY(list());
    listed_at_ms_ = now;
  }
  if (std::ranges::find(listed_, name) == listed_.end())
    return fail(Code::kNotFound, "no community '{}' is served here", name);
  return open_one(std::string(name));
}

Result<std::vector<std::string>> Communities::refresh() {
  std::lock_guard lock(opening_);
  listed_ = TRY(list());
  listed_at_ms_ = clock_.steady_ms();
  std::string problem;
  for (const std::string& name : listed_) {
    if (find_open(name) != nullptr) continue;
    if (const auto opened = open_one(name); !opened) problem = name + ": " + opened.error().message;
  }
  std::unique_lock inner(mutex_);
  if (!problem.empty() && problem != problem_)
    log::error("a community cannot be opened", {{"problem", problem}});
  problem_ = problem;
  return listed_;
}

std::vector<Store*> Communities::all() const {
  std::shared_lock lock(mutex_);
  std::vector<Store*> stores;
  stores.reserve(open_.size());
  for (const auto& [name, opened] : open_) stores.push_back(opened.store.get());
  return stores;
}

std::vector<const sql::Database*> Communities::databases() const {
  if (server_) return {server_.get()};
  std::shared_lock lock(mutex_);
  std::vector<const sql::Database*> files;
  files.reserve(open_.size());
  for (const auto& [name, opened] : open_) files.push_back(opened.database.get());
  return files;
}

std::string Communities::problem() const {
  std::shared_lock lock(mutex_);
  return problem_;
}

}  // namespace coffer::token
