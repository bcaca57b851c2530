// The files by which tools find this server without an explicit address
// (chapter "Tools and Debuggers", "Connection Mechanisms").
#ifndef CANOPY_SERVER_OPENPMIX_TOOL_FILE_H_
#define CANOPY_SERVER_OPENPMIX_TOOL_FILE_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "common/posix/open_directory.h"
#include "common/status.h"

namespace canopy::openpmix {

// What tools are told, and where. Tools search for "pmix.HOST.tool" and what
// begins with that in all that is below their TMPDIR; for a process or a
// namespace, for the name that ends with it. HOST is what this machine calls
// itself. Whose user asks for the system's server takes "pmix.sys.HOST" of a
// directory, and nothing else.
struct ToolContact {
  std::string nspace;  // of the server, as in `uri`
  std::string uri;
  // The path of an agent's Unix socket, for tools that load libpmix of Canopy,
  // in a line that others do not read; empty: they cannot connect.
  std::string socket;
};

struct ToolFilePlaces {
  // This server's alone, in which nothing is kept that it finds there; empty:
  // none.
  std::string own_directory;
  // Of the file of a server that is the system's, which others may share;
  // empty: this one is not.
  std::string system_directory;
  // One more file for who has started this server, which must not be there;
  // empty: none.
  std::string launcher_file;
  // What another machine calls itself, whose server this stands in for: the own
  // directory has a file of that name too. Empty: none.
  std::string other_host;
  // Its files are readable for all users that this process's umask lets read
  // them, as it serves tools of several; else for its own user alone.
  bool for_all_users = false;
  // Another directory that gets the files of `own_directory`, in a place where
  // a user keeps the server's own from being; empty: none.
  std::string users_directory = {};
};

// The files of one server. They are removed with this object, unless somebody
// has put others in their places. A root server writes and removes files in a
// directory that a user controls with that user's rights (OpenDirectory).
class ToolFile {
 public:
  // kErrExists: the machine has another system server that is alive, or there
  // is the launcher's file; kErrNoPermissions: another user's file is in the
  // way; kErrJobSysOpFailed: a file cannot be written.
  static Result<ToolFile> Write(const ToolFilePlaces& places,
                                const ToolContact& contact);
  // Those of any server in its own directory, for one that left them behind.
  static void RemoveAll(const std::string& directory);
  ToolFile() = default;
  ToolFile(ToolFile&& other) noexcept;
  ToolFile& operator=(ToolFile&& other) noexcept;
  ~ToolFile();

  std::vector<std::string> paths() const;

 private:
  // A directory, opened once, and its path.
  struct Directory {
    std::string path;
    OpenedDirectory opened;

    std::string At(const std::string& name) const { return path + "/" + name; }
    int fd() const { return opened.fd.get(); }
  };
  using DirectoryRef = std::shared_ptr<const Directory>;
  struct Written {
    DirectoryRef directory;
    std::string name;
    dev_t device = 0;
    ino_t inode = 0;
  };

  explicit ToolFile(mode_t mode) : mode_(mode) {}

  static Result<DirectoryRef> Open(const std::string& path);
  Status AddOwn(const std::string& directory, const std::string& other_host,
                const std::string& nspace, const std::string& content);
  Status AddLaunchers(const std::string& path, const std::string& content);
  Status AddSystem(const std::string& directory, const std::string& content);
  // These two with the rights of the directory's user.
  Status Add(const DirectoryRef& directory, const std::string& name, int flags,
             const std::string& content);
  Status Install(const DirectoryRef& directory, const std::string& name,
                 const std::string& content);

  mode_t mode_ = 0600;
  std::vector<Written> files_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_TOOL_FILE_H_
