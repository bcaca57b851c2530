#include "server/registration/registration.h"

#include <gtest/gtest.h>

#include <string_view>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/values/info_list.h"
#include "common/values/regex.h"
#include "common/values/value.h"
#include "common/values/zlib_access.h"
#include "pmix_common.h"
#include "pmix_deprecated.h"

namespace canopy::registration {
namespace {

KeyValue Array(const char* key, const InfoList& infos) {
  return {key, Value::InfoArray(infos)};
}

KeyValue Text(const char* key, std::string_view text) {
  return {key, Value::String(text)};
}

KeyValue Number(const char* key, uint32_t number) {
  return {key, Value::Uint32(number)};
}

KeyValue NullText(const char* key) {
  Value value;
  value.mutable_raw()->type = PMIX_STRING;
  return {key, std::move(value)};
}

Result<Registration> Read(const InfoList& infos, int num_local_procs = 2,
                          std::vector<std::string> names = {"a"}) {
  return ReadRegistration({.nspace = "job",
                           .num_local_procs = num_local_procs,
                           .infos = infos.span(),
                           .node_names = std::move(names),
                           .node_id = {}});
}

// Returns the node of each rank, for example "0 0 1".
std::string NodesOf(const Registration& registration) {
  std::string text;
  for (const ProcPlacement& proc : registration.job.procs) {
    text += (text.empty() ? "" : " ") + std::to_string(proc.node);
  }
  return text;
}

std::string AppsOf(const Registration& registration) {
  std::string text;
  for (const ProcPlacement& proc : registration.job.procs) {
    text += (text.empty() ? "" : " ") + std::to_string(proc.app);
  }
  return text;
}

// Returns the value of a key; empty if it is absent.
Value ValueOf(const Keys& keys, std::string_view key) {
  for (const auto& [name, encoded] : keys) {
    if (name == key) return *DecodeValue(encoded);
  }
  return {};
}

TEST(RegistrationTest, ANamespaceWithoutDataHasOnlyItsName) {
  InfoList infos{Number(PMIX_JOB_SIZE, 4)};
  infos.Add(PMIX_REGISTER_NODATA, Value());
  const auto read = Read(infos, 1);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->no_data);
  EXPECT_EQ(read->job.nspace, "job");
  EXPECT_TRUE(read->job.procs.empty());
  EXPECT_FALSE(Read({{PMIX_REGISTER_NODATA, Value::Bool(false)}}, 1)->no_data);
}

TEST(RegistrationTest, WithoutAMapAllLocalProcessesAreOnThisNode) {
  const auto read = Read({}, 2);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(NodesOf(*read), "0 0");
  EXPECT_EQ(AppsOf(*read), "0 0");
  EXPECT_EQ(read->self_node, 0u);
  EXPECT_EQ(read->job.nodes[0].name, "a");
  EXPECT_EQ(read->job.universe_size, 2u);
  EXPECT_TRUE(Read({}, 0)->job.procs.empty());
  EXPECT_TRUE(Read({}, -1)->job.procs.empty());
}

// Returns the infos that Slurm's plug-in registers on the second of two nodes.
InfoList SlurmInfos() {
  InfoList infos{{PMIX_SPAWNED, Value::Bool(false)},
                 Text(PMIX_TMPDIR, "/tmp/spool"),
                 Text(PMIX_NSDIR, "/tmp/spool/job"),
                 {PMIX_TDIR_RMCLEAN, Value::Bool(true)},
                 Text(PMIX_JOBID, "7.0")};
  for (uint32_t rank = 0; rank < 4; ++rank) {
    InfoList proc{{PMIX_RANK, Value::Int(static_cast<int>(rank))},
                  {PMIX_APPNUM, Value::Int(0)},
                  {PMIX_APPLDR, Value::Int(0)},
                  Number(PMIX_GLOBAL_RANK, rank),
                  Number(PMIX_APP_RANK, rank)};
    if (rank % 2 == 1) {
      proc.Add(PMIX_LOCAL_RANK, Value::Uint16(rank / 2));
      proc.Add(PMIX_NODE_RANK, Value::Uint16(rank / 2));
    }
    proc.Add(PMIX_HOSTNAME, Value::String(rank % 2 == 0 ? "n1" : "n2"));
    // Slurm's plug-in gives the number of its own node for the processes of all
    // nodes.
    proc.Add(PMIX_NODEID, Value::Uint32(1));
    infos.Add(PMIX_PROC_DATA, Value::InfoArray(proc));
  }
  infos.Append({Number(PMIX_UNIV_SIZE, 8), Number(PMIX_JOB_SIZE, 4),
                Number(PMIX_LOCAL_SIZE, 2), Number(PMIX_NODE_SIZE, 2),
                Number(PMIX_MAX_PROCS, 8),
                Text(PMIX_NODE_MAP, CompressNodeList("n1,n2")),
                Text(PMIX_PROC_MAP, CompressRankMap("0,2;1,3")),
                Text(PMIX_ANL_MAP, "(vector,(0,2,1))"),
                Text(PMIX_LOCAL_PEERS, "1,3"), Number(PMIX_LOCALLDR, 1)});
  return infos;
}

TEST(RegistrationTest, ReadsTheRegistrationsOfSlurm) {
  const auto read = Read(SlurmInfos(), 2, {"n2"});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(NodesOf(*read), "0 1 0 1");
  EXPECT_EQ(AppsOf(*read), "0 0 0 0");
  EXPECT_EQ(read->self_node, 1u);
  EXPECT_EQ(read->job.nodes[0].agent, 0u);
  EXPECT_EQ(read->job.nodes[1].agent, 1u);
  EXPECT_EQ(read->job.universe_size, 8u);
  EXPECT_EQ(read->job.max_procs, 8u);
  EXPECT_EQ(read->procs[2].numbers.local_rank, 1u);
  EXPECT_EQ(read->procs[3].numbers.local_rank, 1u);
  EXPECT_EQ(read->procs[3].numbers.app_rank, 3u);
  EXPECT_EQ(read->procs[3].global_rank, 3u);
}

TEST(RegistrationTest, KeysOfSlurmAreConvertedToTheirStandardTypes) {
  const auto read = Read(SlurmInfos(), 2, {"n2"});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(ValueOf(read->procs[0].keys, PMIX_APPLDR), Value::Rank(0));
  EXPECT_EQ(ValueOf(read->job_keys, PMIX_LOCALLDR), Value::Rank(1));
  EXPECT_EQ(ValueOf(read->nodes[1], PMIX_LOCALLDR), Value::Rank(1));
  EXPECT_TRUE(ValueOf(read->nodes[0], PMIX_LOCALLDR).empty());
  EXPECT_EQ(ValueOf(read->session, PMIX_TMPDIR), Value::String("/tmp/spool"));
  EXPECT_EQ(ValueOf(read->job_keys, PMIX_TMPDIR), Value::String("/tmp/spool"));
  EXPECT_EQ(ValueOf(read->job_keys, PMIX_JOBID), Value::String("7.0"));
  EXPECT_TRUE(ValueOf(read->procs[0].keys, PMIX_HOSTNAME).empty());
}

TEST(RegistrationTest, TheLocalPeersIdentifyAServersNode) {
  const auto read = Read(SlurmInfos(), 2, {"machine"});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->self_node, 1u);
  EXPECT_EQ(read->job.nodes[1].aliases, std::vector<std::string>{"machine"});
}

TEST(RegistrationTest, TheLocalLeaderOrTheNodeNumberIdentifiesAServersNode) {
  const InfoList map{Text(PMIX_NODE_MAP, "n1,n2"),
                     Text(PMIX_PROC_MAP, "0;1,2")};
  EXPECT_EQ(Read(map).code(), kErrBadParam);
  InfoList leader = map;
  leader.Add(PMIX_LOCALLDR, Value::Uint32(1));
  EXPECT_EQ(Read(leader)->self_node, 1u);
  InfoList number = map;
  number.Add(PMIX_NODEID, Value::Uint32(1));
  EXPECT_EQ(Read(number)->self_node, 1u);
  // The node has one process instead of two.
  number.Set(PMIX_NODEID, Value::Uint32(0));
  EXPECT_EQ(Read(number).code(), kErrBadParam);
}

// Returns the infos that orted registers for a job of two applications, with
// more nodes than the infos name.
InfoList OrtedInfos() {
  InfoList infos{Text(PMIX_JOBID, "[1,1]"),
                 Number(PMIX_NPROC_OFFSET, 5),
                 Text(PMIX_NODE_MAP, CompressNodeList("a,b")),
                 Text(PMIX_PROC_MAP, CompressRankMap("0,1;2")),
                 Number(PMIX_NODEID, 3),
                 Number(PMIX_NODE_SIZE, 3),
                 Number(PMIX_NUM_NODES, 2),
                 Number(PMIX_UNIV_SIZE, 4),
                 Number(PMIX_JOB_SIZE, 3),
                 Number(PMIX_JOB_NUM_APPS, 2),
                 Number(PMIX_LOCAL_SIZE, 2),
                 Number(PMIX_MAX_PROCS, 4),
                 Text(PMIX_TOPOLOGY_SIGNATURE, "1N:1S"),
                 {PMIX_AVAIL_PHYS_MEMORY, Value::Uint64(1 << 30)},
                 Text(PMIX_LOCAL_PEERS, "0,1"),
                 {PMIX_LOCALLDR, Value::Rank(0)}};
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const uint32_t app = rank == 0 ? 0 : 1;
    InfoList proc{{PMIX_RANK, Value::Rank(rank)}};
    if (rank < 2) {
      KeyValue unbound = NullText(PMIX_LOCALITY_STRING);
      proc.Add(unbound.key, unbound.value);
    }
    proc.Append({Number(PMIX_APPNUM, app),
                 {PMIX_APPLDR, Value::Rank(app)},
                 {PMIX_GLOBAL_RANK, Value::Rank(5 + rank)},
                 {PMIX_APP_RANK, Value::Rank(rank == 2 ? 1 : 0)},
                 {PMIX_LOCAL_RANK, Value::Uint16(rank == 1 ? 1 : 0)},
                 {PMIX_NODE_RANK, Value::Uint16(rank == 1 ? 2 : 1)},
                 Number(PMIX_NODEID, rank == 2 ? 4 : 3)});
    infos.Add(PMIX_PROC_DATA, Value::InfoArray(proc));
    // This is the size of the process's application, given outside its array.
    infos.Add(PMIX_APP_SIZE, Value::Uint32(app + 1));
  }
  return infos;
}

TEST(RegistrationTest, ReadsTheRegistrationsOfOrted) {
  const auto read = Read(OrtedInfos());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(NodesOf(*read), "0 0 1");
  EXPECT_EQ(AppsOf(*read), "0 1 1");
  EXPECT_EQ(read->job.nodes[0].agent, 3u);
  EXPECT_EQ(read->job.nodes[1].agent, 4u);
  EXPECT_EQ(read->job.nodes[0].first_node_rank, 1u);
  EXPECT_EQ(read->job.nodes[0].other_procs, 1u);
  EXPECT_EQ(read->job.apps[1].num_procs, 2u);
  EXPECT_EQ(read->job.nproc_offset, 5u);
  EXPECT_EQ(read->procs[2].global_rank, 7u);
  EXPECT_EQ(read->procs[2].numbers.app_rank, 1u);
  EXPECT_EQ(read->procs[1].numbers.node_rank, 2u);
  EXPECT_EQ(read->procs[0].locality, "");
}

// Returns infos in the Standard's own form, with nested arrays.
InfoList StandardInfos() {
  const InfoList apps[] = {
      {Number(PMIX_APPNUM, 0),
       Number(PMIX_APP_SIZE, 1),
       {PMIX_APPLDR, Value::Rank(0)},
       Text(PMIX_APP_ARGV, "./first -v"),
       Text(PMIX_WDIR, "/one")},
      {Number(PMIX_APPNUM, 1),
       Number(PMIX_APP_SIZE, 2),
       {PMIX_APPLDR, Value::Rank(1)},
       Text(PMIX_APP_ARGV, "./second"),
       Text("my.app.key", "x"),
       Array(PMIX_PROC_INFO_ARRAY, {{PMIX_RANK, Value::Rank(2)},
                                    Text(PMIX_CPUSET, "0-3"),
                                    Text(PMIX_LOCALITY_STRING, "NM0"),
                                    Text("my.proc.key", "y")})}};
  const InfoList job{Text(PMIX_NSPACE, "job"),
                     Number(PMIX_JOB_SIZE, 3),
                     Number(PMIX_JOB_NUM_APPS, 2),
                     Text(PMIX_NODE_MAP, "a,b"),
                     Text(PMIX_PROC_MAP, "0;1-2"),
                     Text("my.job.key", "z"),
                     Array(PMIX_APP_INFO_ARRAY, apps[0]),
                     Array(PMIX_APP_INFO_ARRAY, apps[1])};
  const InfoList nodes[] = {
      {Text(PMIX_HOSTNAME, "a"), Number(PMIX_NODEID, 10),
       Text(PMIX_HOSTNAME_ALIASES, "a.example.org,node-a"),
       Number(PMIX_NODE_SIZE, 4), Number(PMIX_NUM_SLOTS, 8)},
      {Number(PMIX_NODEID, 20),
       Text(PMIX_HOSTNAME, "b"),
       {PMIX_NODE_OVERSUBSCRIBED, Value::Bool(true)}},
      {Number(PMIX_NODEID, 30), Text(PMIX_HOSTNAME, "c")}};
  const InfoList other{Text(PMIX_NSPACE, "other"), Number(PMIX_JOB_SIZE, 9)};
  return {Array(
      PMIX_SESSION_INFO_ARRAY,
      {Number(PMIX_SESSION_ID, 77), Number(PMIX_UNIV_SIZE, 16),
       Text(PMIX_RM_NAME, "rm"), Number(PMIX_NUM_NODES, 3),
       Text(PMIX_ALLOCATED_NODELIST, "a,b,c"), Array(PMIX_JOB_INFO_ARRAY, job),
       Array(PMIX_JOB_INFO_ARRAY, other), Array(PMIX_NODE_INFO_ARRAY, nodes[0]),
       Array(PMIX_NODE_INFO_ARRAY, nodes[1]),
       Array(PMIX_NODE_INFO_ARRAY, nodes[2])})};
}

TEST(RegistrationTest, ReadsNestedArrays) {
  const auto read = Read(StandardInfos(), 1);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(NodesOf(*read), "0 1 1");
  EXPECT_EQ(AppsOf(*read), "0 1 1");
  EXPECT_EQ(read->job.session_id, 77u);
  EXPECT_EQ(read->job.universe_size, 16u);
  EXPECT_EQ(read->job.allocation.size(), 3u);
  EXPECT_EQ(read->job.nodes[0].agent, 10u);
  EXPECT_EQ(read->job.nodes[0].slots, 8u);
  EXPECT_EQ(read->job.nodes[0].other_procs, 3u);
  EXPECT_EQ(read->job.nodes[0].aliases.size(), 2u);
  EXPECT_TRUE(read->job.oversubscribed);
  EXPECT_EQ(read->job.apps[0].argv.size(), 2u);
  EXPECT_EQ(read->job.apps[0].cwd, "/one");
  ASSERT_EQ(read->other_nodes.size(), 1u);
  EXPECT_EQ(read->other_nodes[0].name, "c");
  EXPECT_EQ(read->other_nodes[0].id, 30u);
}

TEST(RegistrationTest, EachKeyIsStoredInItsRealm) {
  const auto read = Read(StandardInfos(), 1);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(ValueOf(read->session, PMIX_NUM_NODES), Value::Uint32(3));
  EXPECT_TRUE(ValueOf(read->job_keys, PMIX_NUM_NODES).empty());
  EXPECT_EQ(ValueOf(read->job_keys, PMIX_RM_NAME), Value::String("rm"));
  EXPECT_FALSE(ValueOf(read->session, PMIX_JOB_INFO_ARRAY).empty());
  EXPECT_EQ(ValueOf(read->job_keys, "my.job.key"), Value::String("z"));
  EXPECT_EQ(ValueOf(read->apps[1], "my.app.key"), Value::String("x"));
  EXPECT_EQ(ValueOf(read->procs[2].keys, "my.proc.key"), Value::String("y"));
  EXPECT_EQ(read->procs[2].keys.size(), 1u);
  EXPECT_EQ(*DecodeValue(read->procs[2].cpuset), Value::String("0-3"));
  EXPECT_EQ(*DecodeValue(read->procs[2].locality), Value::String("NM0"));
}

TEST(RegistrationTest, TheLastValueOfAKeyIsUsed) {
  const auto read = Read({Text("my.key", "old"), Text("my.key", "new"),
                          NullText("my.key"), Number("other", 1)});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->job_keys.size(), 2u);
  EXPECT_EQ(ValueOf(read->job_keys, "my.key"), Value::String("new"));
}

TEST(RegistrationTest, NumbersOfOtherTypesAreAcceptedIfTheyFit) {
  const auto read = Read({{PMIX_JOB_SIZE, Value::Int64(2)},
                          {PMIX_NPROC_OFFSET, Value::String("12")},
                          {PMIX_UNIV_SIZE, Value::Double(4)},
                          {PMIX_TDIR_RMCLEAN, Value::Int(1)},
                          {PMIX_JOBID, Value::Uint32(99)}});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->job.nproc_offset, 12u);
  EXPECT_EQ(ValueOf(read->job_keys, PMIX_JOB_SIZE), Value::Uint32(2));
  EXPECT_EQ(ValueOf(read->job_keys, PMIX_NPROC_OFFSET), Value::Rank(12));
  EXPECT_EQ(ValueOf(read->job_keys, PMIX_UNIV_SIZE), Value::Uint32(4));
  EXPECT_EQ(ValueOf(read->job_keys, PMIX_TDIR_RMCLEAN), Value::Bool(true));
  EXPECT_EQ(ValueOf(read->job_keys, PMIX_JOBID), Value::String("99"));
}

// -------------------------------------------------------------- placing ---

Value Regex(std::string_view bytes) {
  Value value = Value::ByteObject(bytes);
  value.mutable_raw()->type = PMIX_REGEX;
  return value;
}

std::string Blob(std::string_view text, std::string_view size_mark) {
  const std::string compressed = *Compress(text);
  std::string blob("blob:\0component=zlib:\0", 22);
  blob += size_mark;
  blob += std::to_string(compressed.size()) + ":";
  return blob + '\0' + compressed;
}

std::string LongNodeList() {
  std::string names = "a";
  for (int i = 1; i < 40; ++i) names += ",node" + std::to_string(i);
  return names;
}

std::string LongRankMap() {
  std::string ranks = "0";
  for (int i = 1; i < 40; ++i) ranks += ";" + std::to_string(i);
  return ranks;
}

TEST(RegistrationTest, ReadsMapsInEveryForm) {
  const std::string nodes = LongNodeList();
  const std::string ranks = LongRankMap();
  const Value node_maps[] = {
      Value::String(nodes),          Value::String(CompressNodeList(nodes)),
      Value::String("raw:" + nodes), Regex(CompressNodeList(nodes) + '\0'),
      Regex(Blob(nodes, "size=")),   Value::ByteObject(Blob(nodes, ""))};
  const Value rank_maps[] = {Value::String(ranks),
                             Value::String(CompressRankMap(ranks)),
                             Value::String("pmix[" + ranks + "]"),
                             Regex("raw:" + ranks + '\0'),
                             Regex(Blob(ranks, "size=")),
                             Value::ByteObject(Blob(ranks, ""))};
  for (size_t i = 0; i < std::size(node_maps); ++i) {
    const auto read =
        Read({{PMIX_NODE_MAP, node_maps[i]}, {PMIX_PROC_MAP, rank_maps[i]}}, 1);
    ASSERT_TRUE(read.ok()) << i << ": " << read.status().message();
    ASSERT_EQ(read->job.procs.size(), 40u);
    EXPECT_EQ(read->job.procs[39].node, 39u);
    EXPECT_EQ(read->job.nodes[39].name, "node39");
  }
}

TEST(RegistrationTest, ReadsRawMapsAndRanges) {
  const auto read = Read(
      {Text(PMIX_NODE_MAP_RAW, "b,a"), Text(PMIX_PROC_MAP_RAW, "0-1,4;2-3")});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(NodesOf(*read), "0 0 1 1 0");
  EXPECT_EQ(read->self_node, 1u);
}

TEST(RegistrationTest, AVectorPlacesProcessesIfThereIsNoOtherMap) {
  const auto on = [](const char* vector, uint32_t size) {
    const auto read =
        Read({Text(PMIX_NODE_MAP, "a,b"), Text(PMIX_ANL_MAP, vector),
              Number(PMIX_JOB_SIZE, size)},
             0);
    return read.ok() ? NodesOf(*read) : read.status().message();
  };
  EXPECT_EQ(on("(vector,(0,2,2))", 4), "0 0 1 1");
  EXPECT_EQ(on("(vector,(0,2,1))", 5), "0 1 0 1 0");
  EXPECT_EQ(on("(vector,(1,1,2),(0,1,1))", 3), "1 1 0");
  for (const char* bad :
       {"", "(vector)", "(vector,(0,3,1))", "(vector,(0,2,0))",
        "(vector,(2,1,1))", "(vector,(0,2)", "vector"}) {
    EXPECT_EQ(on(bad, 4), "PMIX_ANL_MAP is malformed") << bad;
  }
}

TEST(RegistrationTest, NodesAreRecognisedWithAndWithoutTheirDomain) {
  const auto read =
      Read({Text(PMIX_NODE_MAP, "a.x.org,b.x.org"), Text(PMIX_PROC_MAP, "0;1"),
            Array(PMIX_PROC_DATA,
                  {{PMIX_RANK, Value::Rank(1)}, Text(PMIX_HOSTNAME, "b")})},
           1);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->self_node, 0u);
  EXPECT_FALSE(
      Read({Text(PMIX_NODE_MAP, "a.x.org,b.x.org"), Text(PMIX_PROC_MAP, "0;1"),
            Array(PMIX_PROC_DATA, {{PMIX_RANK, Value::Rank(1)},
                                   Text(PMIX_HOSTNAME, "b.y.org")})},
           1)
          .ok());
}

KeyValue ProcOn(Rank rank, const KeyValue& where) {
  return Array(PMIX_PROC_DATA, {{PMIX_RANK, Value::Rank(rank)}, where});
}

TEST(RegistrationTest, ProcessesArePlacedByTheirHostNames) {
  const auto read = Read({ProcOn(1, Text(PMIX_HOSTNAME, "a")),
                          ProcOn(0, Text(PMIX_HOSTNAME, "b"))},
                         1);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(NodesOf(*read), "0 1");
  EXPECT_EQ(read->job.nodes[0].name, "b");
  EXPECT_EQ(read->self_node, 1u);
}

TEST(RegistrationTest, ProcessesArePlacedByThePeersOfTheNodes) {
  const auto read =
      Read({Array(PMIX_NODE_INFO_ARRAY,
                  {Text(PMIX_HOSTNAME, "b"), Text(PMIX_LOCAL_PEERS, "2")}),
            Array(PMIX_NODE_INFO_ARRAY,
                  {Text(PMIX_HOSTNAME, "a"), Text(PMIX_LOCAL_PEERS, "0,1")})});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(NodesOf(*read), "1 1 0");
  EXPECT_EQ(ValueOf(read->nodes[0], PMIX_LOCAL_PEERS), Value::String("2"));
}

TEST(RegistrationTest, ProcessesArePlacedByNodeNumbersIfNoMapExists) {
  const auto read = Read(
      {ProcOn(0, Number(PMIX_NODEID, 9)), ProcOn(1, Number(PMIX_NODEID, 8)),
       Array(PMIX_NODE_INFO_ARRAY,
             {Number(PMIX_NODEID, 8), Text(PMIX_HOSTNAME, "b")}),
       Number(PMIX_NODEID, 9)},
      1);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(NodesOf(*read), "0 1");
  EXPECT_EQ(read->job.nodes[0].name, "a");
  EXPECT_EQ(read->job.nodes[0].agent, 9u);
  EXPECT_EQ(read->job.nodes[1].agent, 8u);
}

TEST(RegistrationTest, ANodeArrayMayIdentifyItsNodeByNumber) {
  const auto read =
      Read({Text(PMIX_NODE_MAP, "a,b"), Text(PMIX_PROC_MAP, "0,1;2"),
            Array(PMIX_NODE_INFO_ARRAY,
                  {Number(PMIX_NODEID, 1), Text("node.key", "of b"),
                   Array(PMIX_PROC_INFO_ARRAY, {{PMIX_RANK, Value::Rank(2)},
                                                Text("proc.key", "2")})})});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(ValueOf(read->nodes[1], "node.key"), Value::String("of b"));
  EXPECT_EQ(ValueOf(read->procs[2].keys, "proc.key"), Value::String("2"));
}

TEST(RegistrationTest, ReadsPackedMapsAndProcesses) {
  Encoder map;
  map.PackSize(2);
  map.PackKval("a", Value::String("0,2").raw());
  map.PackKval("b", Value::String("1").raw());
  Encoder proc;
  proc.PackRank(1);
  proc.PackKval(PMIX_LOCAL_RANK, Value::Uint16(0).raw());
  proc.PackKval("my.key", Value::String("x").raw());
  const auto read = Read({{PMIX_MAP_BLOB, Value::ByteObject(map.Take())},
                          {PMIX_PROC_BLOB, Value::ByteObject(proc.Take())}});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(NodesOf(*read), "0 1 0");
  EXPECT_EQ(ValueOf(read->procs[1].keys, "my.key"), Value::String("x"));
}

TEST(RegistrationTest, ApplicationsAreAssignedByTheirSizesOrMaps) {
  const InfoList infos{Array(PMIX_APP_INFO_ARRAY, {Number(PMIX_APPNUM, 0),
                                                   Number(PMIX_APP_SIZE, 1)}),
                       Array(PMIX_APP_INFO_ARRAY, {Number(PMIX_APPNUM, 1),
                                                   Number(PMIX_APP_SIZE, 1)})};
  EXPECT_EQ(AppsOf(*Read(infos)), "0 1");
  const InfoList mapped{Array(PMIX_APP_INFO_ARRAY, {Number(PMIX_APPNUM, 0),
                                                    Text(PMIX_PROC_MAP, "1")}),
                        Array(PMIX_APP_INFO_ARRAY, {Number(PMIX_APPNUM, 1),
                                                    Text(PMIX_PROC_MAP, "0")})};
  EXPECT_EQ(AppsOf(*Read(mapped)), "1 0");
}

// ------------------------------------------------------------- refusals ---

// Returns the bytes of the text with its zeros, except the last one.
template <size_t kSize>
std::string Bytes(const char (&text)[kSize]) {
  return std::string(text, kSize - 1);
}

struct Refusal {
  InfoList infos;
  int code;
  const char* text;  // part of the message
};

InfoList Nested(int depth) {
  InfoList infos{Number("key", 1)};
  for (int i = 0; i < depth; ++i) {
    infos = {Array(PMIX_JOB_INFO_ARRAY, infos)};
  }
  return infos;
}

std::vector<Refusal> Contradictions() {
  const KeyValue nodes = Text(PMIX_NODE_MAP, "a,b");
  const KeyValue ranks = Text(PMIX_PROC_MAP, "0,1;2");
  return {
      {{nodes, Text(PMIX_PROC_MAP, "0;1;2")}, kErrBadParam, "has 3 nodes"},
      {{nodes, Text(PMIX_PROC_MAP, "0,1;1")}, kErrBadParam, "rank 1"},
      {{nodes, Text(PMIX_PROC_MAP, "0,0,1;2")},
       kErrBadParam,
       "lists rank 0 twice"},
      {{nodes, Text(PMIX_PROC_MAP, "0,1;3")}, kErrBadParam, "rank 2"},
      {{nodes, ranks, Number(PMIX_JOB_SIZE, 2)}, kErrBadParam, "JOB_SIZE is 2"},
      {{nodes, ranks, Number(PMIX_JOB_SIZE, 4)}, kErrBadParam, "have rank 3"},
      {{nodes, ranks, ProcOn(2, Text(PMIX_HOSTNAME, "a"))},
       kErrBadParam,
       "puts rank 2 on a"},
      {{nodes, ranks, ProcOn(2, Text(PMIX_HOSTNAME, "c"))},
       kErrBadParam,
       "rank 2 is c"},
      {{nodes, ranks, Text(PMIX_LOCAL_PEERS, "0,2")},
       kErrBadParam,
       "PMIX_LOCAL_PEERS puts rank 2"},
      {{Text(PMIX_NODE_MAP, "a,a"), Text(PMIX_PROC_MAP, "0;1")},
       kErrBadParam,
       "a twice"},
      {{Text(PMIX_NODE_MAP, "a,b"), Text(PMIX_PROC_MAP, "0;1,2")},
       kErrBadParam,
       "2 local processes"},
      {{Text(PMIX_NODE_MAP, "c,b"), ranks}, kErrBadParam, "this node, a"},
      {{ProcOn(0, {PMIX_LOCAL_RANK, Value::Uint16(1)}),
        ProcOn(1, {PMIX_LOCAL_RANK, Value::Uint16(1)})},
       kErrBadParam,
       "PMIX_LOCAL_RANK of ranks 0 and 1"},
      {{Array(PMIX_SESSION_INFO_ARRAY, {Number(PMIX_SESSION_ID, 1)}),
        Number(PMIX_SESSION_ID, 2)},
       kErrBadParam,
       "PMIX_SESSION_ID"},
      {{Number(PMIX_JOB_NUM_APPS, 1), ProcOn(0, Number(PMIX_APPNUM, 1))},
       kErrBadParam,
       "PMIX_JOB_NUM_APPS is 1"},
      {{Array(PMIX_APP_INFO_ARRAY, {Number(PMIX_APP_SIZE, 3)})},
       kErrBadParam,
       "PMIX_APP_SIZE of application 0"},
  };
}

std::vector<Refusal> Omissions() {
  return {
      {{Text(PMIX_PROC_MAP, "0;1")}, kErrBadParam, "PMIX_NODE_MAP is missing"},
      {{Number(PMIX_JOB_SIZE, 3)}, kErrBadParam, "place of rank 0"},
      {{Text(PMIX_NODE_MAP, "a,b")}, kErrBadParam, "place of rank 0"},
      {{ProcOn(0, Number(PMIX_NODEID, 4)), ProcOn(1, Number(PMIX_NODEID, 4))},
       kErrBadParam,
       "PMIX_HOSTNAME is missing of node 4"},
      {{Array(PMIX_PROC_DATA, {Number(PMIX_NODEID, 1)})},
       kErrBadParam,
       "PMIX_RANK is missing"},
      {{Array(PMIX_SESSION_INFO_ARRAY, {Number(PMIX_UNIV_SIZE, 1)})},
       kErrBadParam,
       "PMIX_SESSION_ID is missing"},
      {{Array(PMIX_NODE_INFO_ARRAY, {Number(PMIX_NODE_SIZE, 1)})},
       kErrBadParam,
       "PMIX_HOSTNAME or PMIX_NODEID is missing"},
      {{Array(PMIX_APP_INFO_ARRAY, {Number(PMIX_APPNUM, 0)}),
        Array(PMIX_APP_INFO_ARRAY, {Number(PMIX_APP_SIZE, 1)})},
       kErrBadParam,
       "PMIX_APPNUM is missing"},
      {{Number(PMIX_JOB_NUM_APPS, 2)}, kErrBadParam, "PMIX_APPNUM of rank 0"},
  };
}

std::vector<Refusal> Malformed() {
  return {
      {{Text(PMIX_JOB_SIZE, "many")}, kErrTypeMismatch, "PMIX_JOB_SIZE"},
      {{{PMIX_JOB_SIZE, Value::Int(-1)}}, kErrTypeMismatch, "PMIX_JOB_SIZE"},
      {{Number(PMIX_JOB_SIZE, kMaxProcs + 1)},
       kErrOutOfResource,
       "PMIX_JOB_SIZE"},
      {{ProcOn(kMaxProcs, Number("key", 1))}, kErrOutOfResource, "PMIX_RANK"},
      {{ProcOn(0, Number(PMIX_APPNUM, kMaxApps))},
       kErrOutOfResource,
       "PMIX_APPNUM"},
      {{ProcOn(0, {PMIX_LOCAL_RANK, Value::Uint32(1 << 16)})},
       kErrOutOfResource,
       "PMIX_LOCAL_RANK"},
      {{Number(PMIX_NODE_MAP, 1)}, kErrTypeMismatch, "PMIX_NODE_MAP"},
      {{Text(PMIX_NODE_MAP, "pmix[a[3:x]]")}, kErrBadParam, "PMIX_NODE_MAP"},
      {{Text(PMIX_NODE_MAP, "a"), Text(PMIX_PROC_MAP, "0,x")},
       kErrBadParam,
       "PMIX_PROC_MAP"},
      {{Text(PMIX_NODE_MAP, "a"), Text(PMIX_PROC_MAP, "0-4000000000")},
       kErrBadParam,
       "PMIX_PROC_MAP"},
      {{{PMIX_NODE_MAP, Regex(Bytes("blob\0other\0001:\0x"))}},
       kErrNotSupported,
       "PMIX_NODE_MAP"},
      {{{PMIX_NODE_MAP, Regex(Bytes("blob:\0component=zlib:\0size=99:\0x"))}},
       kErrBadParam,
       "cut off"},
      {{Number(PMIX_PROC_DATA, 1)}, kErrTypeMismatch, "not an array"},
      {{{PMIX_MAP_BLOB, Value::ByteObject("\x7f")}},
       kErrBadParam,
       "PMIX_MAP_BLOB"},
      {{{PMIX_PROC_BLOB, Value::ByteObject("")}},
       kErrBadParam,
       "PMIX_PROC_BLOB"},
      {{Number(PMIX_PARENT_ID, 1)}, kErrTypeMismatch, "PMIX_PARENT_ID"},
      {Nested(kMaxDepth + 1), kErrOutOfResource, "PMIX_JOB_INFO_ARRAY"},
  };
}

void ExpectRefused(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    const auto read = Read(refusal.infos);
    ASSERT_FALSE(read.ok()) << refusal.text;
    EXPECT_EQ(read.code(), refusal.code) << read.status().message();
    EXPECT_NE(read.status().message().find(refusal.text), std::string::npos)
        << refusal.text << " not in: " << read.status().message();
  }
}

TEST(RegistrationTest, ContradictoryRegistrationsAreRefused) {
  ExpectRefused(Contradictions());
}

TEST(RegistrationTest, MissingEntriesAreReported) {
  ExpectRefused(Omissions());
}

TEST(RegistrationTest, MalformedEntriesAreReported) {
  ExpectRefused(Malformed());
}

TEST(RegistrationTest, ArraysOfRanksAreReadAndChecked) {
  const ProcId procs[] = {{"job", 0}, {"job", 1}};
  EXPECT_TRUE(Read({{PMIX_LOCAL_PEERS, Value::ProcArray(procs)}}).ok());
  const ProcId all[] = {{"job", kRankWildcard}};
  EXPECT_EQ(Read({{PMIX_LOCAL_PEERS, Value::ProcArray(all)}}).code(),
            kErrBadParam);
}

TEST(RegistrationTest, NestedArraysAreReadUpToALimit) {
  const auto read = Read(Nested(kMaxDepth));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(ValueOf(read->job_keys, "key"), Value::Uint32(1));
}

TEST(RegistrationTest, ValuesThatCannotBeSentAreOmittedUnlessRequired) {
  int here = 0;
  Value pointer;
  pointer.mutable_raw()->type = PMIX_POINTER;
  pointer.mutable_raw()->data.ptr = &here;
  InfoList infos;
  infos.Add("key", pointer);
  const auto read = Read(infos);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(ValueOf(read->job_keys, "key").empty());
  infos.Clear();
  infos.Add("key", pointer, PMIX_INFO_REQD);
  EXPECT_EQ(Read(infos).code(), kErrNotSupported);
}

TEST(RegistrationTest, ARegistrationWithoutANamespaceIsRefused) {
  EXPECT_EQ(ReadRegistration({.nspace = "",
                              .num_local_procs = 1,
                              .infos = {},
                              .node_names = {},
                              .node_id = {}})
                .code(),
            kErrBadParam);
}

}  // namespace
}  // namespace canopy::registration
