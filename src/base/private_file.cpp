#include "base/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"

namespace coffer {
namespace {

Result<> check_owner(const struct stat& status, const std::string& name) {
  if (status.st_uid == ::geteuid() || status.st_uid == 0) return {};
  return fail(Code::kForbidden,
              "{} belongs to user {}; it must belong to the user who runs Coffer ({}) or to root",
              name, status.st_uid, ::geteuid());
}

Result<> check_file(int fd, const std::string& name, bool group_may_read_roots) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return fail(errno_error(errno, "cannot read " + name));
  if (!S_ISREG(status.st_mode)) return {};
  TRY(check_owner(status, name));
  const bool is_roots = group_may_read_roots && status.st_uid == 0;
  const mode_t of_others = is_roots ? S_IWGRP | S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO;
  if ((status.st_mode & of_others) == 0) return {};
  return fail(Code::kForbidden, "others can read or change {} (mode {:04o}); run: chmod {} {}",
              name, status.st_mode & 07777, is_roots ? "640" : "600", name);
}

}  // namespace

Result<Bytes> read_private_file(const std::filesystem::path& path, const PrivateFile& options) {
  const std::string name = path.string();
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(errno_error(errno, "cannot read " + name));
  const auto allowed = check_file(fd, name, options.group_may_read_roots);
  auto data =
      allowed ? read_open_file(fd, name, options.max_bytes) : Result<Bytes>(fail(allowed.error()));
  ::close(fd);
  return data;
}

Result<> check_private_directory(const std::filesystem::path& path) {
  const std::string name = path.string();
  struct stat status{};
  if (::stat(name.c_str(), &status) != 0) return fail(errno_error(errno, "cannot look at " + name));
  TRY(check_owner(status, name));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return fail(Code::kForbidden, "others can write into {} (mode {:04o}); run: chmod go-w {}", name,
              status.st_mode & 07777, name);
}

}  // namespace coffer
