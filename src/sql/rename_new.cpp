#include "sql/rename_new.h"
#include "base/result.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace coffer::sql {

Result<> rename_to_new(const std::filesystem::path& from, const std::filesystem::path& to) {
  int failed = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  // Not every file system knows this, and not every one knows a second name for a file.
  if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) {
    failed = ::link(from.c_str(), to.c_str());
    if (failed == 0) ::unlink(from.c_str());
  }
  if (failed == 0) return {};
  if (errno == EEXIST)
    return fail(Code::kConflict, "{} exists already; choose another name", to.string());
  return fail(errno_error(errno, "cannot rename to " + to.string()));
}

}  // namespace coffer::sql
