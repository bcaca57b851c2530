// The jobs' shared memory on this node: what the core publishes, local
// processes read.
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
  // The directory at facts.tmpdir, in which those of jobs are made. If it holds
  // none, the datastore opens that path, which then leads to a directory that
  // no other user can change.
  UniqueFd directory;
  // A user can change that directory. Directories of jobs are then made and
  // removed with the rights of the job's user.
  bool directory_is_users = false;
  shm::SegmentLimits limits;  // of one job
  // Adds what is known of a job beyond its map to what follows from it, before
  // the segment is made. May be empty.
  std::function<void(const std::string& nspace, shm::SegmentContents* contents)>
      amend;
  // Called once for a job, when so much of its memory is used that a commit may
  // not fit, so that commits become messages with an answer. May be empty.
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

  // NodeFacts::nodes of jobs that are added from now on.
  void SetNodes(std::vector<SessionNode> nodes) {
    options_.facts.nodes = std::move(nodes);
  }

  // kErrExists for a namespace that is there; kErrOutOfResource over the
  // memory budget. Makes the job's directory.
  Status AddJob(const core::RegisterJob& job) override;
  // What does not fit, or is malformed, is logged. What does not fit is tried
  // again with what the rank commits next; until then Holds is false.
  Status Publish(const core::PublishRank& data) override;
  void SetIncarnation(const ProcId& proc, uint32_t incarnation) override;
  // From now on, a directory of a job's user, or of this one, that is where the
  // job's is to be is a predecessor's, and is taken over.
  void TakeOverDirectories() { takes_over_ = true; }
  // The directory that a predecessor has left of a job which is not there. Its
  // processes may be ending still.
  void RemoveForgotten(const std::string& nspace);
  // The job's directory goes too, with what its processes left there, when
  // AddJob made it.
  void DropJob(const std::string& nspace) override;

  // What a client needs to map a job's segment. `owner` keeps `fd` open after
  // the job is dropped.
  struct Segment {
    int fd = -1;
    uint64_t size = 0;
    std::shared_ptr<const void> owner;
  };
  std::optional<Segment> Find(const std::string& nspace) const;
  // False when the namespace is not here, or the rank's data did not fit.
  bool Holds(const ProcId& proc) const;
  // Makes the rank's directory below the job's, unless it is there or the job
  // has none. Called for ranks that have learnt its name: libpmix makes it by
  // itself when the name is asked for.
  void MakeRankDirectory(const ProcId& proc);
  // PMIX_PROC_PID of a rank that was started.
  void SetPid(const std::string& nspace, Rank rank, int pid);

  // All data of a namespace, as its processes see it; null when it is not
  // here. Good until the namespace is dropped.
  const shm::SegmentReader* FindReader(const std::string& nspace);

  // The VALUE of a job-level key.
  std::optional<std::string> FindJobKey(const std::string& nspace,
                                        std::string_view key);
  // The VALUE of a key that some rank of the namespace committed and this node
  // sees, whoever it was: how PMI-1 asks. The first question makes an index.
  std::optional<std::string> FindKey(const std::string& nspace,
                                     std::string_view key);

 private:
  // What is not in the segment for want of room, to be put there with what
  // comes next.
  struct Waiting {
    struct Item {
      std::string value;
      uint32_t flags = 0;
    };
    bool whole = false;  // in the place of what is there
    std::map<std::string, Item, std::less<>> items;
  };
  // A directory of a job in that of all jobs. Without a name there is none.
  struct JobPlace {
    std::string name;
    FileUser user;  // who owns it
  };
  struct Job {
    std::shared_ptr<shm::SegmentWriter> writer;
    std::unique_ptr<shm::SegmentReader> reader;  // made when asked
    JobPlace place;
    std::set<Rank> directories;  // of ranks, below the job's
    bool scarce = false;         // that was told
    bool indexed = false;
    std::unordered_map<std::string, Rank> owners;  // when indexed
    std::map<Rank, Waiting> waiting;               // what did not fit
  };

  Job* FindJob(const std::string& nspace);
  static Status Write(Job* job, Rank rank, bool whole,
                      std::vector<shm::TableItem> items);
  const shm::SegmentReader* Reader(Job* job);
  std::string PathOf(const std::string& name) const {
    return options_.facts.tmpdir + "/" + name;
  }
  // Who makes and removes a job's directory: its user where a user can change
  // the directory that it is in, else this process.
  FileUser MakerOf(const JobPlace& place) const;
  // Makes it, or takes over a predecessor's, and gives it to its user.
  Status MakeDirectory(const JobPlace& place) const;
  // Holds none when it is not there.
  UniqueFd Open(const JobPlace& place) const;
  void MakeJobDirectory(const core::RegisterJob& registration, Job* job);
  void AdoptPreloaded(const std::string& nspace, const JobPlace& place);
  void Index(Job* job);
  void RemoveDirectory(const std::string& nspace, const JobPlace& place);
  Status Remove(const JobPlace& place) const;
  void RemoveLeft();
  // Says that something does not fit, where all did, or may not soon.
  void TellOfRoom(const ProcId& proc, bool all_fitted, const Status& status,
                  Job* job);
  void LogError(std::string text);

  DatastoreOptions options_;
  bool takes_over_ = false;
  std::unordered_map<std::string, Job> jobs_;
  std::vector<JobPlace> left_;  // of jobs that are gone
};

}  // namespace canopy::datastore

#endif  // CANOPY_SERVER_DATASTORE_DATASTORE_H_
