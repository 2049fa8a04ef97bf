#include "api/refusals.h"

#include <utility>

#include "base/result.h"
#include "json/writer.h"

namespace coffer::api {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::size_t kMaxPathBytes = 256;  // of what a stranger chose

}  // namespace

void Refusals::note(const AuditEntry& entry) {
  std::lock_guard lock(mutex_);
  if (noted_ == 0 && dropped_ == 0) since_ms_ = clock_.steady_ms();
  if (noted_ >= kMaxPerMinute) {
    ++dropped_;
    return;
  }
  ++noted_;
  AuditEntry shown = entry;
  shown.path = shown.path.substr(0, kMaxPathBytes);
  lines_.push_back(audit_line(shown));
}

Result<> Refusals::flush(AuditLog& log) {
  std::vector<std::string> lines;
  {
    std::lock_guard lock(mutex_);
    lines = std::exchange(lines_, {});
    if (clock_.steady_ms() - since_ms_ >= kMinuteMs) {
      if (dropped_ != 0) {
        json::Writer note;
        note.begin_object().field("time_unix_ms", clock_.unix_ms());
        note.field("note", "more requests were refused and are not listed");
        note.field("requests", dropped_).end_object();
        lines.push_back(note.take());
      }
      noted_ = dropped_ = 0;
    }
  }
  for (std::string& line : lines) TRY(log.append_line(std::move(line)));
  return {};
}

}  // namespace coffer::api
