// The files by which tools find this server without an explicit address (PMIx
// Standard, chapter "Tools and Debuggers", "Connection Mechanisms").
#ifndef CANOPY_SERVER_OPENPMIX_TOOL_FILE_H_
#define CANOPY_SERVER_OPENPMIX_TOOL_FILE_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "common/posix/open_directory.h"
#include "common/status.h"

namespace canopy::openpmix {

// The content of the files. Tools search everything below their TMPDIR for
// "pmix.HOST.tool" and for names that begin with it. A tool that looks for the
// server with a certain PID or namespace searches for the name that ends with
// this PID or namespace. HOST is this machine's own name. A tool that requests
// the system server uses only "pmix.sys.HOST" in one directory.
struct ToolContact {
  std::string nspace;  // namespace of the server, as in `uri`
  std::string uri;
  // The path of an agent's Unix socket, for tools that load Canopy's libpmix.
  // It is in a line that other tools do not read. Empty: tools that load
  // Canopy's libpmix cannot connect.
  std::string socket;
};

struct ToolFilePlaces {
  // The directory of this server; other tool files there are removed. Empty:
  // this server has no directory.
  std::string own_directory;
  // The directory of the system server's file, which other servers may share.
  // Empty: this is not the system server.
  std::string system_directory;
  // A further file for the program that has started this server; it must not
  // exist. Empty: there is none.
  std::string launcher_file;
  // The own name of another machine, if this server represents a server of that
  // machine. The directory of this server then gets a file of that name too.
  // Empty: there is none.
  std::string other_host;
  // True if all users that this process's umask permits may read the files,
  // because the server serves tools of several users; false if only its own
  // user may.
  bool for_all_users = false;
  // The directory that the host has named for this server, if users can change
  // it. It also gets the files of `own_directory`. Empty: there is none.
  std::string users_directory = {};
};

// The files of one server. They are removed with this object, unless they have
// been replaced. In a directory that a user controls, a server that runs as
// root writes and removes files with the rights of that user (OpenDirectory).
class ToolFile {
 public:
  // Writes the files. Returns kErrExists if the machine has another system
  // server that is alive, or if the launcher's file exists. Returns
  // kErrNoPermissions if the system server's file belongs to another user, or
  // if a directory does not permit a new file. Returns kErrJobSysOpFailed if a
  // file cannot be written for another reason.
  static Result<ToolFile> Write(const ToolFilePlaces& places,
                                const ToolContact& contact);
  // Removes the files of any server from `directory`. Called for the directory
  // of a server that is gone and has left its files there.
  static void RemoveAll(const std::string& directory);
  ToolFile() = default;
  ToolFile(ToolFile&& other) noexcept;
  ToolFile& operator=(ToolFile&& other) noexcept;
  ~ToolFile();

  // Returns the paths of the files that were written.
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
  // Add and Install act with the rights of the directory's user.
  Status Add(const DirectoryRef& directory, const std::string& name, int flags,
             const std::string& content);
  Status Install(const DirectoryRef& directory, const std::string& name,
                 const std::string& content);

  mode_t mode_ = 0600;
  std::vector<Written> files_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_TOOL_FILE_H_
