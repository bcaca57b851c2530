#include "server/datastore/datastore.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/cpuset.h"
#include "common/posix/unique_fd.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::datastore {
namespace {

core::RegisterJob Registration(const JobSpec& spec) {
  core::RegisterJob job;
  job.job = std::make_shared<JobSpec>(spec);
  job.layout = std::make_shared<JobLayout>(spec);
  return job;
}

// Four ranks of two programs on two nodes; this agent is on the second node.
JobSpec TwoNodes() {
  JobSpec job;
  job.nspace = "job-7";
  job.nproc_offset = 100;
  job.session_id = 3;
  job.uid = getuid();
  job.gid = getgid();
  job.apps.resize(2);
  job.apps[0].argv = {"./a", "-x"};
  job.apps[0].cwd = "/work-a";
  job.apps[1].argv = {"./b"};
  job.cwd = "/default";
  job.nodes = {{"node01", {"n1"}, 4, 2}, {"node02", {"n2", "ten"}, 5, 1}};
  job.procs = {{0, 0, "0"}, {1, 0, "0"}, {0, 1, "1"}, {1, 1, "2-3"}};
  job.universe_size = 8;
  job.allocation = {"node01", "node02", "spare"};
  job.map_by = "node";
  job.rank_by = "slot";
  job.bind_to = "core";
  return job;
}

DatastoreOptions Options() {
  DatastoreOptions options;
  options.facts.self = 5;
  options.facts.server = {"canopy.server", 5};
  options.facts.uri = [] { return "canopy.server.5;tcp4://127.0.0.1:7"; };
  options.facts.rm_version = "1.0";
  // There are two packages on each node: one with a single CPU, one with many.
  const auto packages = std::make_shared<std::vector<CpuSet>>(2);
  packages->at(0).Add(0);
  packages->at(1).AddRange(1, 7);
  for (int i = 0; i < 6; ++i) {
    options.facts.nodes.push_back({"member" + std::to_string(i),
                                   uint64_t{1} << (25 + i),
                                   "sig" + std::to_string(i), packages});
  }
  options.facts.locality = [](const std::string& cpuset) {
    return "LOC" + cpuset;
  };
  options.limits.arena_bytes = 256 << 20;
  options.limits.memory_budget = 16 << 20;
  return options;
}

Bytes Kvals(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Encoder encoder;
  for (const auto& [key, text] : pairs) {
    encoder.PutKval(key, Value::String(text).raw());
  }
  return Bytes(encoder.Take());
}

class DatastoreTest : public ::testing::Test {
 protected:
  void Add(const JobSpec& spec = TwoNodes()) {
    const Status status = store_.AddJob(Registration(spec));
    ASSERT_TRUE(status.ok()) << status.message();
    const auto segment = store_.Find(spec.nspace);
    ASSERT_TRUE(segment.has_value());
    auto reader = shm::SegmentReader::Map(segment->fd, segment->size);
    ASSERT_TRUE(reader.ok());
    reader_ = std::move(*reader);
  }

  static Value Decode(std::optional<std::string_view> encoded) {
    if (!encoded) return Value();
    auto value = DecodeValue(*encoded);
    EXPECT_TRUE(value.ok());
    return value.ok() ? *value : Value();
  }
  Value Job(const char* key) { return Decode(reader_->FindJob(key)); }
  Value Session(const char* key) { return Decode(reader_->FindSession(key)); }
  Value App(uint32_t a, const char* key) {
    return Decode(reader_->FindApp(a, key));
  }
  Value Node(uint32_t n, const char* key) {
    return Decode(reader_->FindNode(n, key));
  }
  Value Proc(Rank rank, std::string_view key) {
    const shm::Lookup lookup = reader_->FindProc(rank, key);
    return lookup.found() ? Decode(lookup.value()) : Value();
  }

  int Publish(const core::PublishRank& data) {
    return store_.Publish(data).code();
  }

  std::vector<std::string> log_;
  std::vector<std::string> scarce_;
  Datastore store_{[this] {
    DatastoreOptions options = Options();
    options.log = [this](const core::LogLine& l) { log_.push_back(l.text); };
    options.on_scarce = [this](const std::string& nspace) {
      scarce_.push_back(nspace);
    };
    return options;
  }()};
  std::unique_ptr<shm::SegmentReader> reader_;
};

TEST_F(DatastoreTest, TheSegmentHasTheKeysOfSessionAndJob) {
  Add();
  EXPECT_EQ(Session(PMIX_UNIV_SIZE), Value::Uint32(8));
  EXPECT_EQ(Session(PMIX_SESSION_ID), Value::Uint32(3));
  EXPECT_EQ(Session(PMIX_RM_NAME), Value::String("canopy"));
  EXPECT_EQ(Session(PMIX_HOSTNAME_KEEP_FQDN), Value::Bool(true));
  EXPECT_EQ(Session(PMIX_SERVER_HOSTNAME), Value::String("member5"));
  EXPECT_EQ(Job(PMIX_NPROC_OFFSET), Value::Rank(100));
  EXPECT_EQ(Job(PMIX_JOBID), Value::String("job-7"));
  EXPECT_EQ(Job(PMIX_JOB_SIZE), Value::Uint32(4));
  EXPECT_EQ(Job(PMIX_MAX_PROCS), Value::Uint32(4));
  EXPECT_EQ(Job(PMIX_JOB_NUM_APPS), Value::Uint32(2));
  EXPECT_EQ(Job(PMIX_NUM_NODES), Value::Uint32(2));
  EXPECT_EQ(Job(PMIX_ALLOCATED_NODELIST), Value::String("node01,node02,spare"));
  EXPECT_EQ(Job(PMIX_NUM_ALLOCATED_NODES), Value::Uint32(3));
  EXPECT_EQ(Session(PMIX_NUM_ALLOCATED_NODES), Value::Uint32(6));
  EXPECT_EQ(Job(PMIX_CMD_LINE), Value::String("./a -x:./b"));
  EXPECT_EQ(Job(PMIX_NODE_LIST), Value::String("node01,node02"));
  EXPECT_EQ(Job(PMIX_NODE_MAP), Value::String("pmix[node[2:1-2]]"));
  EXPECT_EQ(Job(PMIX_PROC_MAP_RAW), Value::String("0,2;1,3"));
  EXPECT_EQ(Job(PMIX_PROC_MAP), Value::String("pmix[0,2;1,3]"));
  EXPECT_EQ(Job(PMIX_ANL_MAP), Value::String("(vector,(0,2,1))"));
  EXPECT_EQ(Job(PMIX_MAPBY), Value::String("node"));
  EXPECT_EQ(Job(PMIX_RANKBY), Value::String("slot"));
  EXPECT_EQ(Job(PMIX_BINDTO), Value::String("core"));
  EXPECT_EQ(Job(PMIX_MAX_RESTARTS), Value::Uint32(0));
  EXPECT_TRUE(Job(PMIX_CPUS_PER_PROC).empty());
  EXPECT_TRUE(Job(PMIX_CPU_LIST).empty());
  EXPECT_EQ(Job(PMIX_SERVER_NSPACE), Value::String("canopy.server"));
  EXPECT_EQ(Job(PMIX_SERVER_URI),
            Value::String("canopy.server.5;tcp4://127.0.0.1:7"));
  EXPECT_EQ(Job(PMIX_SERVER_RANK), Value::Rank(5));
  EXPECT_EQ(Job(PMIX_LOCAL_SIZE), Value::Uint32(2));
  EXPECT_EQ(Job(PMIX_LOCAL_PEERS), Value::String("1,3"));
  EXPECT_TRUE(Job(PMIX_SPAWNED).empty());
  EXPECT_TRUE(Job(PMIX_PARENT_ID).empty());
}

TEST_F(DatastoreTest, ASpawnedJobHasItsParent) {
  JobSpec spec = TwoNodes();
  spec.parent = {"job-1", 2};
  Add(spec);
  EXPECT_EQ(Job(PMIX_SPAWNED), Value::Bool(true));
  EXPECT_EQ(Job(PMIX_PARENT_ID), Value::Proc({"job-1", 2}));
  EXPECT_EQ(Proc(0, PMIX_PARENT_ID), Value::Proc({"job-1", 2}));
}

TEST_F(DatastoreTest, ADebuggedJobHasItsStopsAndTarget) {
  JobSpec spec = TwoNodes();
  spec.debug.on_exec.emplace();
  spec.debug.in_init = std::vector<Rank>{2};
  spec.debug.in_app = std::vector<Rank>{1, 3};
  spec.debug.target = {"job-1", kRankWildcard};
  Add(spec);
  EXPECT_EQ(Job(PMIX_DEBUG_STOP_ON_EXEC), Value::Rank(kRankWildcard));
  EXPECT_EQ(Job(PMIX_DEBUG_STOP_IN_INIT), Value::Rank(2));
  const std::vector<ProcId> some = {{spec.nspace, 1}, {spec.nspace, 3}};
  EXPECT_EQ(Job(PMIX_DEBUG_STOP_IN_APP), Value::ProcArray(some));
  EXPECT_EQ(Job(PMIX_DEBUG_TARGET), Value::Proc(spec.debug.target));
}

TEST_F(DatastoreTest, PmixJobidIsTheJobIdOfTheBatchSystem) {
  JobSpec spec = TwoNodes();
  spec.env = {"SLURM_JOB_ID=", "X=1", "PBS_JOBID=77.host"};
  Add(spec);
  EXPECT_EQ(Job(PMIX_JOBID), Value::String("77.host"));
  EXPECT_EQ(Job(PMIX_NSPACE), Value::String("job-7"));
}

TEST_F(DatastoreTest, AnApplicationHasItsSlotsAndNodes) {
  JobSpec spec = TwoNodes();
  spec.max_procs = 9;
  spec.app_nodes = {{}, {{"node02"}, 3}};
  Add(spec);
  EXPECT_EQ(App(0, PMIX_NUM_SLOTS), Value::Uint32(9));
  EXPECT_EQ(App(1, PMIX_NUM_SLOTS), Value::Uint32(3));
  EXPECT_EQ(App(1, PMIX_ALLOCATED_NODELIST), Value::String("node02"));
}

TEST_F(DatastoreTest, TheSegmentHasTheKeysOfApplicationsAndNodes) {
  Add();
  EXPECT_EQ(App(1, PMIX_APPLDR), Value::Rank(2));
  EXPECT_EQ(App(0, PMIX_APP_SIZE), Value::Uint32(2));
  EXPECT_EQ(App(0, PMIX_APP_ARGV), Value::String("./a -x"));
  EXPECT_EQ(App(0, PMIX_WDIR), Value::String("/work-a"));
  EXPECT_EQ(App(1, PMIX_WDIR), Value::String("/default"));
  EXPECT_EQ(App(1, PMIX_NODE_LIST), Value::String("node01,node02"));
  EXPECT_EQ(App(1, PMIX_PROC_MAP), Value::String("pmix[2;3]"));
  EXPECT_EQ(App(1, PMIX_APP_MAP_TYPE), Value::String("node"));
  EXPECT_EQ(App(1, PMIX_NUM_SLOTS), Value::Uint32(4));
  EXPECT_EQ(App(1, PMIX_NUM_ALLOCATED_NODES), Value::Uint32(3));
  EXPECT_EQ(Node(0, PMIX_HOSTNAME), Value::String("node01"));
  EXPECT_EQ(Node(1, PMIX_HOSTNAME_ALIASES), Value::String("n2,ten"));
  EXPECT_EQ(Node(1, PMIX_NODEID), Value::Uint32(5));
  EXPECT_EQ(reader_->NodeById(4), 0u);
  EXPECT_FALSE(reader_->NodeById(1).has_value());
  EXPECT_EQ(Node(0, PMIX_LOCAL_PEERS), Value::String("0,2"));
  EXPECT_EQ(Node(0, PMIX_LOCALLDR), Value::Rank(0));
  EXPECT_EQ(Node(1, PMIX_NODE_OVERSUBSCRIBED), Value::Bool(true));
  EXPECT_EQ(Node(0, PMIX_NODE_OVERSUBSCRIBED), Value::Bool(false));
  EXPECT_EQ(Node(1, PMIX_AVAIL_PHYS_MEMORY), Value::Uint64(1 << 30));
  EXPECT_EQ(Node(0, PMIX_AVAIL_PHYS_MEMORY), Value::Uint64(1 << 29));
  EXPECT_EQ(Node(1, PMIX_TOPOLOGY_SIGNATURE), Value::String("sig5"));
  EXPECT_EQ(Node(0, PMIX_MAX_PROCS), Value::Uint32(2));
  const std::vector<ProcId> procs = {{"job-7", 1}, {"job-7", 3}};
  EXPECT_EQ(Node(1, PMIX_LOCAL_PROCS), Value::ProcArray(procs));
  const std::vector<std::string> cpusets = {"0", "2-3"};
  EXPECT_EQ(Node(1, PMIX_LOCAL_CPUSETS), Value::StringArray(cpusets));
  EXPECT_EQ(reader_->NodeByName("ten"), 1u);
  EXPECT_EQ(reader_->self_node(), 1u);
}

TEST_F(DatastoreTest, ProcKeysHaveTheStandardsTypes) {
  Add();
  EXPECT_EQ(Proc(3, PMIX_RANK), Value::Rank(3));
  EXPECT_EQ(Proc(3, PMIX_GLOBAL_RANK), Value::Rank(103));
  EXPECT_EQ(Proc(3, PMIX_APP_RANK), Value::Rank(1));
  EXPECT_EQ(Proc(3, PMIX_APPNUM), Value::Uint32(1));
  EXPECT_EQ(Proc(3, PMIX_NODEID), Value::Uint32(5));
  EXPECT_EQ(Proc(3, PMIX_LOCAL_RANK), Value::Uint16(1));
  EXPECT_EQ(Proc(3, PMIX_NODE_RANK), Value::Uint16(1));
  EXPECT_EQ(Proc(3, PMIX_PACKAGE_RANK), Value::Uint16(0));
  EXPECT_EQ(Proc(3, PMIX_REINCARNATION), Value::Uint32(0));
  EXPECT_EQ(Proc(3, PMIX_NSPACE), Value::String("job-7"));
  EXPECT_EQ(Proc(3, PMIX_PROCID), Value::Proc({"job-7", 3}));
  EXPECT_EQ(Proc(3, PMIX_SESSION_ID), Value::Uint32(3));
  EXPECT_EQ(Proc(3, PMIX_HOSTNAME), Value::String("node02"));
  EXPECT_EQ(Proc(3, PMIX_CPUSET), Value::String("2-3"));
  EXPECT_EQ(Proc(3, PMIX_LOCALITY_STRING), Value::String("LOC2-3"));
  EXPECT_TRUE(Proc(2, PMIX_LOCALITY_STRING).empty());
  EXPECT_EQ(Proc(2, PMIX_CPUSET), Value::String("1"));
  EXPECT_TRUE(Proc(3, PMIX_PROC_PID).empty());
  store_.SetPid("job-7", 3, 4711);
  EXPECT_EQ(Proc(3, PMIX_PROC_PID), Value::Pid(4711));
  store_.SetIncarnation({"job-7", 3}, 2);
  store_.SetIncarnation({"none", 0}, 2);
  EXPECT_EQ(Proc(3, PMIX_REINCARNATION), Value::Uint32(2));
}

TEST_F(DatastoreTest, TheBitmapOfACpusetCanBeDecoded) {
  Add();
  const shm::Lookup lookup = reader_->FindProc(3, PMIX_CPUSET_BITMAP);
  ASSERT_TRUE(lookup.found());
  const Result<Value> value = DecodeValue(lookup.value());
  if (value.code() == kErrNotSupported) GTEST_SKIP() << "no hwloc here";
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->raw().type, PMIX_PROC_CPUSET);
  EXPECT_EQ(EncodeValue(value->raw()), lookup.value());
}

TEST_F(DatastoreTest, ReadersFindPublishedData) {
  Add();
  Publish({{"job-7", 0}, Kvals({{"k", "v"}}), {"hidden"}});
  EXPECT_EQ(Proc(0, "k"), Value::String("v"));
  EXPECT_EQ(reader_->FindProc(0, "hidden").state(),
            shm::LookupState::kOutsideScope);
  Publish({{"job-7", 0}, Kvals({{"k", "w"}}), {}});
  EXPECT_EQ(Proc(0, "k"), Value::String("w"));
  EXPECT_TRUE(log_.empty());
}

TEST_F(DatastoreTest, MalformedDataIsRejected) {
  Add();
  Publish({{"job-7", 0}, Kvals({{"k", "v"}}), {}});
  Publish({{"job-7", 0}, Bytes(std::string("\x10garbage")), {}});
  Publish({{"job-7", 99}, Kvals({{"k", "v"}}), {}});
  Publish({{"no-job", 0}, Kvals({{"k", "v"}}), {}});
  EXPECT_EQ(Proc(0, "k"), Value::String("v"));
  EXPECT_EQ(log_.size(), 2u);
}

TEST_F(DatastoreTest, DataThatDoesNotFitIsLoggedOnce) {
  Add();
  const std::string big(20 << 20, 'x');
  EXPECT_EQ(Publish({{"job-7", 0}, Kvals({{"k", big}}), {}}),
            kErrOutOfResource);
  EXPECT_EQ(Publish({{"job-7", 0}, Kvals({{"k", big}}), {}}),
            kErrOutOfResource);
  EXPECT_EQ(log_.size(), 1u);
  EXPECT_EQ(reader_->FindProc(0, "k").state(), shm::LookupState::kNoRoom);
  EXPECT_FALSE(store_.Holds({"job-7", 0}));
  EXPECT_TRUE(store_.Holds({"job-7", 1}));
  EXPECT_FALSE(store_.Holds({"job-8", 1}));
  Publish({{"job-7", 0}, Kvals({{"k", "v"}}), {}});
  EXPECT_TRUE(store_.Holds({"job-7", 0}));
}

TEST_F(DatastoreTest, ScarceMemoryIsReportedOnceBeforeDataDoesNotFit) {
  Add();
  const std::string value(1 << 20, 'x');
  for (int i = 0; i < 3; ++i) {
    const std::string key = "k" + std::to_string(i);
    EXPECT_EQ(Publish({{"job-7", 0}, Kvals({{key, value}}), {}, true}),
              kSuccess);
    EXPECT_EQ(scarce_.size(), i < 1 ? 0u : 1u) << i;
  }
  EXPECT_EQ(scarce_, std::vector<std::string>{"job-7"});
}

TEST_F(DatastoreTest, ChangesAreAddedToPublishedData) {
  Add();
  Publish({{"job-7", 0}, Kvals({{"a", "1"}, {"b", "1"}}), {"c"}});
  Publish({{"job-7", 0}, Kvals({{"b", "2"}, {"c", "2"}}), {}, true});
  EXPECT_EQ(Proc(0, "a"), Value::String("1"));
  EXPECT_EQ(Proc(0, "b"), Value::String("2"));
  EXPECT_EQ(Proc(0, "c"), Value::String("2"));
  Publish({{"job-7", 0}, Kvals({{"b", "3"}}), {}});
  EXPECT_FALSE(reader_->FindProc(0, "a").found());
  EXPECT_EQ(Proc(0, "b"), Value::String("3"));
}

TEST_F(DatastoreTest, ChangesThatDidNotFitAreWrittenWithLaterOnes) {
  Add();
  const std::string big(17 << 20, 'x');
  Publish({{"job-7", 0}, Kvals({{"a", "1"}}), {}});
  Publish({{"job-7", 0}, Kvals({{"a", "2"}, {"big", big}}), {}, true});
  EXPECT_FALSE(store_.Holds({"job-7", 0}));
  EXPECT_EQ(Proc(0, "a"), Value::String("1"));
  Publish({{"job-7", 0}, Kvals({{"big", "small"}}), {}, true});
  EXPECT_TRUE(store_.Holds({"job-7", 0}));
  EXPECT_EQ(Proc(0, "a"), Value::String("2"));
  EXPECT_EQ(Proc(0, "big"), Value::String("small"));
}

TEST_F(DatastoreTest, TheVersionIsThatOfTheLastDataThatFitted) {
  Add();
  core::PublishRank data{{"job-7", 0}, Kvals({{"a", "1"}}), {}};
  data.version = 5;
  Publish(data);
  EXPECT_EQ(reader_->Version(0), 5u);
  data.visible = Kvals({{"big", std::string(17 << 20, 'x')}});
  data.only_changes = true;
  data.version = 6;
  Publish(data);
  EXPECT_EQ(reader_->Version(0), 5u);
}

TEST_F(DatastoreTest, FindKeyFindsTheKeyOfAnyRank) {
  Add();
  Publish({{"job-7", 2}, Kvals({{"before", "1"}}), {}});
  EXPECT_EQ(Decode(store_.FindKey("job-7", "before")), Value::String("1"));
  EXPECT_EQ(store_.FindKey("job-7", "after"), std::nullopt);
  Publish({{"job-7", 1}, Kvals({{"after", "2"}}), {"out"}});
  EXPECT_EQ(Decode(store_.FindKey("job-7", "after")), Value::String("2"));
  EXPECT_EQ(store_.FindKey("job-7", "out"), std::nullopt);
  EXPECT_EQ(store_.FindKey("job-8", "after"), std::nullopt);
  EXPECT_EQ(Decode(store_.FindJobKey("job-7", PMIX_JOB_SIZE)),
            Value::Uint32(4));
}

TEST_F(DatastoreTest, ASegmentStaysReadableAfterItsJobIsDropped) {
  Add();
  EXPECT_EQ(store_.AddJob(Registration(TwoNodes())).code(), kErrExists);
  const auto held = store_.Find("job-7");
  store_.DropJob("job-7");
  EXPECT_FALSE(store_.Find("job-7").has_value());
  struct stat info;
  EXPECT_EQ(fstat(held->fd, &info), 0);
  EXPECT_EQ(Job(PMIX_JOB_SIZE), Value::Uint32(4));
  EXPECT_TRUE(store_.AddJob(Registration(TwoNodes())).ok());
}

TEST_F(DatastoreTest, AJobWithoutALocalRankHasItsJobKeys) {
  JobSpec spec = TwoNodes();
  spec.nodes[1].agent = 6;
  Add(spec);
  EXPECT_EQ(reader_->self_node(), kNoNode);
  EXPECT_EQ(Job(PMIX_JOB_SIZE), Value::Uint32(4));
  EXPECT_TRUE(Job(PMIX_LOCAL_SIZE).empty());
  EXPECT_TRUE(Proc(3, PMIX_LOCALITY_STRING).empty());
}

class DatastoreDirectoriesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    top_ = "/tmp/canopy-test-XXXXXX";
    ASSERT_NE(mkdtemp(top_.data()), nullptr);
    job_ = top_ + "/job-7";
  }
  void TearDown() override { EXPECT_EQ(rmdir(top_.c_str()), 0); }
  DatastoreOptions InTop() {
    DatastoreOptions options = Options();
    options.facts.tmpdir = top_;
    options.log = [this](const core::LogLine& l) { log_.push_back(l.text); };
    return options;
  }
  static bool Exists(const std::string& path) {
    struct stat info;
    return lstat(path.c_str(), &info) == 0;
  }

  std::string top_;
  std::string job_;
  std::vector<std::string> log_;
};

TEST_F(DatastoreDirectoriesTest, DirectoriesAreCreatedAndRemovedWithTheJob) {
  Datastore store(InTop());
  ASSERT_TRUE(store.AddJob(Registration(TwoNodes())).ok());
  struct stat info;
  ASSERT_EQ(stat(job_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_FALSE(Exists(job_ + "/1")) << "nobody knows its name yet";
  store.MakeRankDirectory({"job-7", 1});
  store.MakeRankDirectory({"job-7", 1});
  store.MakeRankDirectory({"job-8", 3});
  ASSERT_EQ(stat((job_ + "/1").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_FALSE(Exists(job_ + "/3"));
  ASSERT_EQ(mkdir((job_ + "/1/left").c_str(), 0700), 0);
  ASSERT_EQ(symlink("/etc", (job_ + "/1/link").c_str()), 0);
  store.DropJob("job-7");
  EXPECT_FALSE(Exists(job_));
  EXPECT_TRUE(Exists("/etc/passwd"));
  EXPECT_TRUE(log_.empty());
}

TEST_F(DatastoreDirectoriesTest, PreloadedFilesMoveIntoTheJobsDirectory) {
  Datastore store(InTop());
  JobSpec copying = TwoNodes();
  copying.nspace = "job-7-preload";
  ASSERT_TRUE(store.AddJob(Registration(copying)).ok());
  ASSERT_EQ(mkdir((job_ + "-preload/files").c_str(), 0700), 0);
  ASSERT_EQ(mkdir((job_ + "-preload/other").c_str(), 0700), 0);
  ASSERT_TRUE(store.AddJob(Registration(TwoNodes())).ok());
  EXPECT_TRUE(Exists(job_ + "/files"));
  EXPECT_FALSE(Exists(job_ + "/programs"));
  EXPECT_FALSE(Exists(job_ + "/other"));
  store.DropJob("job-7-preload");
  EXPECT_FALSE(Exists(job_ + "-preload"));
  EXPECT_TRUE(Exists(job_ + "/files"));
  store.DropJob("job-7");
  EXPECT_FALSE(Exists(job_));
  EXPECT_TRUE(log_.empty());
}

TEST_F(DatastoreDirectoriesTest, AnEntryWithTheNameOfARanksDirectoryIsKept) {
  Datastore store(InTop());
  ASSERT_TRUE(store.AddJob(Registration(TwoNodes())).ok());
  ASSERT_EQ(symlink(top_.c_str(), (job_ + "/1").c_str()), 0);
  store.MakeRankDirectory({"job-7", 1});
  struct stat info;
  ASSERT_EQ(lstat((job_ + "/1").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
  EXPECT_TRUE(log_.empty());
}

TEST_F(DatastoreDirectoriesTest, DirectoriesBelongToTheJobsUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  JobSpec spec = TwoNodes();
  spec.uid = spec.gid = 12345;
  Datastore store(InTop());
  ASSERT_TRUE(store.AddJob(Registration(spec)).ok());
  store.MakeRankDirectory({"job-7", 1});
  EXPECT_TRUE(log_.empty());
  for (const std::string& path : {job_, job_ + "/1"}) {
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, 12345u) << path;
    EXPECT_EQ(info.st_gid, 12345u) << path;
  }
  // Later operations use root's rights again.
  ASSERT_EQ(mkdir((job_ + "/1/of-root").c_str(), 0700), 0);
  struct stat info;
  ASSERT_EQ(stat((job_ + "/1/of-root").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0u);
}

TEST_F(DatastoreDirectoriesTest, DirectoriesFollowARenamedTopDirectory) {
  Datastore store(InTop());
  const std::string former = top_ + ".former";
  ASSERT_EQ(rename(top_.c_str(), former.c_str()), 0);
  ASSERT_EQ(symlink("/no/such/directory", top_.c_str()), 0);
  ASSERT_TRUE(store.AddJob(Registration(TwoNodes())).ok());
  store.MakeRankDirectory({"job-7", 1});
  EXPECT_TRUE(Exists(former + "/job-7/1"));
  store.DropJob("job-7");
  EXPECT_FALSE(Exists(former + "/job-7"));
  EXPECT_TRUE(log_.empty());
  ASSERT_EQ(unlink(top_.c_str()), 0);
  ASSERT_EQ(rename(former.c_str(), top_.c_str()), 0);
}

// The directory is like the one that Slurm gives to its plugin.
TEST_F(DatastoreDirectoriesTest, AUsersDirectoryIsChangedWithTheUsersRights) {
  if (geteuid() != 0) GTEST_SKIP() << "only root acts for others";
  constexpr uid_t kUid = 12345;
  DatastoreOptions options = InTop();
  options.directory = UniqueFd(open(top_.c_str(), O_PATH | O_DIRECTORY));
  options.directory_is_users = true;
  Datastore store(std::move(options));
  JobSpec spec = TwoNodes();
  spec.uid = spec.gid = kUid;
  // The user may not write to this directory, and root's rights are not used.
  ASSERT_TRUE(store.AddJob(Registration(spec)).ok());
  EXPECT_FALSE(Exists(job_));
  EXPECT_EQ(log_.size(), 1u);
  store.DropJob("job-7");
  ASSERT_EQ(chown(top_.c_str(), kUid, kUid), 0);
  ASSERT_TRUE(store.AddJob(Registration(spec)).ok());
  store.MakeRankDirectory({"job-7", 1});
  for (const std::string& path : {job_, job_ + "/1"}) {
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, kUid) << path;
    EXPECT_EQ(info.st_mode & 0777, 0700u) << path;
  }
  // An entry by which the user replaced the directory is not treated as the
  // job's directory.
  ASSERT_EQ(rename(job_.c_str(), (top_ + "/aside").c_str()), 0);
  const std::string target = top_ + "/target";
  ASSERT_EQ(mkdir(target.c_str(), 0700), 0);
  ASSERT_EQ(symlink(target.c_str(), job_.c_str()), 0);
  store.MakeRankDirectory({"job-7", 3});
  EXPECT_FALSE(Exists(target + "/3"));
  store.DropJob("job-7");
  EXPECT_TRUE(Exists(target));
  for (const std::string& path : {target, top_ + "/aside/1", top_ + "/aside"}) {
    EXPECT_EQ(rmdir(path.c_str()), 0) << path;
  }
  EXPECT_EQ(unlink(job_.c_str()), 0);
}

TEST_F(DatastoreDirectoriesTest, ARemovalThatLacksADescriptorIsRetried) {
  Datastore store(InTop());
  ASSERT_TRUE(store.AddJob(Registration(TwoNodes())).ok());
  ASSERT_EQ(mkdir((job_ + "/left").c_str(), 0700), 0);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  store.DropJob("job-7");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(Exists(job_));
  EXPECT_EQ(log_.size(), 1u);
  JobSpec other = TwoNodes();
  other.nspace = "job-8";
  ASSERT_TRUE(store.AddJob(Registration(other)).ok());
  store.DropJob("job-8");
  EXPECT_FALSE(Exists(job_));
}

TEST_F(DatastoreDirectoriesTest, TheDirectoryOfAnyNamespaceIsBelowTheTop) {
  NodeFacts facts;
  facts.tmpdir = top_;
  EXPECT_EQ(JobDirectory(facts, "../../etc"), top_ + "/_._.._etc");
  EXPECT_EQ(JobDirectory(facts, ".."), top_ + "/_.");
  EXPECT_EQ(ProcDirectory(facts, "job", 3), top_ + "/job/3");
}

TEST_F(DatastoreDirectoriesTest,
       ASuccessorUsesAndRemovesItsPredecessorsDirectories) {
  ASSERT_EQ(mkdir(job_.c_str(), 0700), 0);
  {
    Datastore store(InTop());
    store.TakeOverDirectories();
    ASSERT_TRUE(store.AddJob(Registration(TwoNodes())).ok());
    store.MakeRankDirectory({"job-7", 1});
    EXPECT_TRUE(Exists(job_ + "/1"));
    EXPECT_TRUE(log_.empty());
  }
  EXPECT_FALSE(Exists(job_));
}

TEST_F(DatastoreDirectoriesTest, TheDirectoryOfAForgottenJobIsRemoved) {
  ASSERT_EQ(mkdir(job_.c_str(), 0700), 0);
  ASSERT_EQ(mkdir((job_ + "/files").c_str(), 0700), 0);
  Datastore store(InTop());
  JobSpec other = TwoNodes();
  other.nspace = "job-8";
  ASSERT_TRUE(store.AddJob(Registration(other)).ok());
  store.RemoveForgotten("job-7");
  store.RemoveForgotten("job-8");
  store.RemoveForgotten("job-9");
  EXPECT_FALSE(Exists(job_));
  EXPECT_TRUE(Exists(top_ + "/job-8"));
  EXPECT_TRUE(log_.empty());
}

TEST_F(DatastoreDirectoriesTest,
       AJobDirectoryThatExistedBeforeIsNotUsedOrRemoved) {
  ASSERT_EQ(mkdir(job_.c_str(), 0700), 0);
  {
    Datastore store(InTop());
    ASSERT_TRUE(store.AddJob(Registration(TwoNodes())).ok());
    store.MakeRankDirectory({"job-7", 1});
    EXPECT_FALSE(Exists(job_ + "/1"));
    EXPECT_EQ(log_.size(), 1u);
  }
  EXPECT_EQ(rmdir(job_.c_str()), 0);
}

}  // namespace
}  // namespace canopy::datastore
