// The jobs' shared memory on this node: the core publishes data, and local
// processes read it.
#ifndef CANOPY_SERVER_DATASTORE_DATASTORE_H_
#define CANOPY_SERVER_DATASTORE_DATASTORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/posix/run_as_user.h"
#include "common/posix/unique_fd.h"
#include "common/shm/segment_reader.h"
#include "common/shm/segment_writer.h"
#include "server/core/step/job_actions.h"
#include "server/core/step/log_line.h"
#include "server/datastore/job_contents.h"
#include "server/datastore/node_facts.h"
#include "server/ports/datastore_port.h"

namespace canopy::datastore {

struct DatastoreOptions {
  NodeFacts facts;
  // The directory at facts.tmpdir, in which the directories of jobs are
  // created. If it is empty, the datastore opens that path, which must lead to
  // a directory that no other user can change.
  UniqueFd directory;
  // True if a user can change that directory. Directories of jobs are then
  // created and removed with the rights of the job's user.
  bool directory_is_users = false;
  shm::SegmentLimits limits;  // limits of one job
  // Called before a job's segment is created. Adds information about the job
  // that does not follow from its map. May be empty.
  std::function<void(const std::string& nspace, shm::SegmentContents* contents)>
      amend;
  // Returns true if the job's processes have a file system of their own. Their
  // directories are then below their own /tmp, and they make them themselves.
  // May be empty.
  std::function<bool(const JobSpec& job)> is_elsewhere;
  // Called once for a job when its memory is so full that a commit may not fit.
  // From then on, clients must send commits as messages, which are answered.
  // May be empty.
  std::function<void(const std::string& nspace)> on_scarce;
  std::function<void(const core::LogLine&)> log;
};

// Loop thread only.
class Datastore final : public DatastorePort {
 public:
  explicit Datastore(DatastoreOptions options);
  ~Datastore() override;
  Datastore(const Datastore&) = delete;
  Datastore& operator=(const Datastore&) = delete;

  // Sets NodeFacts::nodes for jobs that are added from now on.
  void SetNodes(std::vector<SessionNode> nodes) {
    options_.facts.nodes = std::move(nodes);
  }

  // Creates the job's segment and directory. Returns kErrExists if the
  // namespace exists, and kErrOutOfResource if the memory budget is exceeded.
  Status AddJob(const core::RegisterJob& job) override;
  // Publishes data as DatastorePort states, and logs data that does not fit or
  // is malformed. Data that does not fit is retried with the rank's next
  // commit; until then Holds returns false.
  Status Publish(const core::PublishRank& data) override;
  void SetIncarnation(const ProcId& proc, uint32_t incarnation) override;
  // From now on, AddJob takes over the existing directory of a job if the
  // directory belongs to the job's user or to this process's user: a
  // predecessor has created it.
  void TakeOverDirectories() { takes_over_ = true; }
  // Removes the directory that a predecessor has created for a job that no
  // longer exists. Processes of the job may still be ending.
  void RemoveForgotten(const std::string& nspace);
  // Drops the job. Also removes the job's directory, with the files that its
  // processes left there, if AddJob created it.
  void DropJob(const std::string& nspace) override;

  // The data that a client needs to map a job's segment. `owner` keeps `fd`
  // open after the job is dropped.
  struct Segment {
    int fd = -1;
    uint64_t size = 0;
    std::shared_ptr<const void> owner;
  };
  // Returns a job's segment; no value if the namespace is unknown.
  std::optional<Segment> Find(const std::string& nspace) const;
  // Returns false if the namespace is unknown, or if the rank's data did not
  // fit.
  bool Holds(const ProcId& proc) const;
  // Creates the rank's directory below the job's directory, unless it exists or
  // the job has no directory. Called for ranks to which the directory's name
  // was sent; libpmix creates the directory itself when the name is requested.
  void MakeRankDirectory(const ProcId& proc);
  // Sets PMIX_PROC_PID of a rank that was started.
  void SetPid(const std::string& nspace, Rank rank, int pid);

  // Returns all data of a namespace, as its processes see it; null if the
  // namespace is unknown. Valid until the namespace is dropped.
  const shm::SegmentReader* FindReader(const std::string& nspace);

  // Returns the VALUE of a job-level key; no value if there is none.
  std::optional<std::string> FindJobKey(const std::string& nspace,
                                        std::string_view key);
  // Returns the VALUE of a key that any rank of the namespace committed and
  // this node sees, for PMI-1; no value if there is none. The first call
  // creates an index.
  std::optional<std::string> FindKey(const std::string& nspace,
                                     std::string_view key);

 private:
  // Data of a rank that did not fit into the segment. It is written with the
  // rank's next commit.
  struct Waiting {
    struct Item {
      std::string value;
      uint32_t flags = 0;
    };
    bool whole = false;  // replaces the present data
    std::map<std::string, Item, std::less<>> items;
  };
  // The directory of a job below the directory of all jobs. An empty name means
  // that there is none.
  struct JobPlace {
    std::string name;
    FileUser user;  // owner of the directory
  };
  struct Job {
    std::shared_ptr<shm::SegmentWriter> writer;
    std::unique_ptr<shm::SegmentReader> reader;  // created when needed
    JobPlace place;
    std::set<Rank> directories;  // ranks with a directory below the job's
    bool scarce = false;         // on_scarce was called
    bool indexed = false;
    std::unordered_map<std::string, Rank> owners;  // valid when indexed
    std::map<Rank, Waiting> waiting;               // data that did not fit
  };

  Job* FindJob(const std::string& nspace);
  static Status Write(Job* job, Rank rank, bool whole,
                      std::vector<shm::TableItem> items);
  const shm::SegmentReader* Reader(Job* job);
  std::string PathOf(const std::string& name) const {
    return options_.facts.tmpdir + "/" + name;
  }
  // Returns the user that creates and removes a job's directory: the job's user
  // if a user can change the parent directory, and otherwise this process's
  // user.
  FileUser MakerOf(const JobPlace& place) const;
  // Creates the directory, or takes over a predecessor's, and gives it to its
  // user.
  Status MakeDirectory(const JobPlace& place) const;
  // Returns an empty descriptor if the directory does not exist.
  UniqueFd Open(const JobPlace& place) const;
  bool IsElsewhere(const JobSpec& job) const {
    return options_.is_elsewhere && options_.is_elsewhere(job);
  }
  NodeFacts FactsFor(const JobSpec& job) const;
  void MakeJobDirectory(const core::RegisterJob& registration, Job* job);
  void AdoptPreloaded(const std::string& nspace, const JobPlace& place);
  void Index(Job* job);
  void RemoveDirectory(const std::string& nspace, const JobPlace& place);
  Status Remove(const JobPlace& place) const;
  void RemoveLeft();
  // Logs the failure `status` if all data of the process fitted before, and
  // calls on_scarce the first time that the segment is nearly full.
  void TellOfRoom(const ProcId& proc, bool all_fitted, const Status& status,
                  Job* job);
  void LogError(std::string text);

  DatastoreOptions options_;
  bool takes_over_ = false;
  std::unordered_map<std::string, Job> jobs_;
  std::vector<JobPlace> left_;  // of ended jobs; removal failed
};

}  // namespace canopy::datastore

#endif  // CANOPY_SERVER_DATASTORE_DATASTORE_H_
