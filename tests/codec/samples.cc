#include "tests/codec/samples.h"

#include <sys/time.h>

#include <cstdint>
#include <cstring>

namespace canopy {
namespace {

template <typename T>
const void* Keep(const T& element) {
  return new T(element);  // never freed
}

char* Text(const char* text) { return const_cast<char*>(text); }

pmix_proc_t SampleProc() {
  pmix_proc_t proc = {};
  strcpy(proc.nspace, "ns");
  proc.rank = 3;
  return proc;
}

pmix_info_t StringInfo() {
  pmix_info_t info = {};
  strcpy(info.key, "k1");
  info.value.type = PMIX_STRING;
  info.value.data.string = Text("v1");
  return info;
}

pmix_info_t RequiredInfo() {
  pmix_info_t info = {};
  strcpy(info.key, "k2");
  info.flags = PMIX_INFO_REQD;
  info.value.type = PMIX_UINT32;
  info.value.data.uint32 = 5;
  return info;
}

pmix_info_t* TwoInfos() {
  static pmix_info_t infos[] = {StringInfo(), RequiredInfo()};
  return infos;
}

char** TwoStrings() {
  static char* strings[] = {Text("a"), Text("b"), nullptr};
  return strings;
}

pmix_coord_t SampleCoord() {
  static uint32_t dims[] = {7, 300};
  return {PMIX_COORD_LOGICAL_VIEW, dims, 2};
}

// Parts that occur several times.
const char kProcModern[] = "06 6e7300 03";
const char kProcV3[] = "00000003 6e7300 00000003";
const char kTwoInfosModern[] =
    "06 6b3100 00 03 06 763100"
    "06 6b3200 01 0e 05";
const char kTwoInfosV3[] =
    "00000003 6b3100 00000000 0003 00000003 763100"
    "00000003 6b3200 00000001 000e 00000005";

std::string Join(std::initializer_list<std::string> parts) {
  std::string all;
  for (const std::string& part : parts) all += part + " ";
  return all;
}

void AddNumbers(std::vector<Sample>* s) {
  s->push_back({"bool", PMIX_BOOL, Keep(true), "01", "01"});
  s->push_back({"byte", PMIX_BYTE, Keep<uint8_t>(0xab), "ab", "ab"});
  s->push_back({"int8", PMIX_INT8, Keep<int8_t>(-5), "fb", "fb"});
  s->push_back({"uint8", PMIX_UINT8, Keep<uint8_t>(200), "c8", "c8"});
  s->push_back({"int16", PMIX_INT16, Keep<int16_t>(-500), "e707", "fe0c"});
  s->push_back(
      {"uint16", PMIX_UINT16, Keep<uint16_t>(50000), "d08603", "c350"});
  s->push_back(
      {"int32", PMIX_INT32, Keep<int32_t>(-70000), "dfc508", "fffeee90"});
  s->push_back({"uint32", PMIX_UINT32, Keep<uint32_t>(4000000000u),
                "80d0acf30e", "ee6b2800"});
  s->push_back({"int64 lowest", PMIX_INT64, Keep<int64_t>(INT64_MIN),
                "ffffffffffffffffff", "8000000000000000"});
  s->push_back({"int64 highest", PMIX_INT64, Keep<int64_t>(INT64_MAX),
                "feffffffffffffffff", "7fffffffffffffff"});
  s->push_back({"uint64 highest", PMIX_UINT64, Keep<uint64_t>(UINT64_MAX),
                "ffffffffffffffffff", "ffffffffffffffff"});
  // Eight groups of seven bits hold numbers up to this one.
  s->push_back({"uint64 8 groups", PMIX_UINT64,
                Keep<uint64_t>((uint64_t{1} << 56) - 1), "ffffffffffffff7f",
                "00ffffffffffffff"});
  s->push_back({"uint64 9 groups", PMIX_UINT64,
                Keep<uint64_t>(uint64_t{1} << 56), "808080808080808001",
                "0100000000000000"});
  s->push_back({"int", PMIX_INT, Keep<int>(-5), "09", "0009 fffffffb"});
  s->push_back(
      {"uint", PMIX_UINT, Keep<unsigned>(0xfffffff0u), "1f", "0009 fffffff0"});
  s->push_back(
      {"size", PMIX_SIZE, Keep<size_t>(300), "ac02", "000f 000000000000012c"});
  s->push_back(
      {"pid", PMIX_PID, Keep<pid_t>(1234), "0e d209", "000e 000004d2"});
  s->push_back({"float", PMIX_FLOAT, Keep<float>(1.5f),
                "12 312e3530303030 3000", "00000009 312e353030303030 00"});
  s->push_back({"double", PMIX_DOUBLE, Keep<double>(-2.25),
                "14 2d322e323530303030 00", "0000000a 2d322e323530303030 00"});
  s->push_back({"timeval", PMIX_TIMEVAL, Keep<timeval>({5, 6}), "0a 0c",
                "0000000000000005 0000000000000006"});
  s->push_back(
      {"time", PMIX_TIME, Keep<time_t>(1000), "e807", "00000000000003e8"});
  s->push_back(
      {"status", PMIX_STATUS, Keep<pmix_status_t>(-46), "5b", "ffffffd2"});
  s->push_back({"rank wildcard", PMIX_PROC_RANK,
                Keep<pmix_rank_t>(PMIX_RANK_WILDCARD), "feffffff0f",
                "fffffffe"});
}

void AddCodes(std::vector<Sample>* s) {
  const auto add_byte = [s](const char* name, pmix_data_type_t type,
                            uint8_t code, bool in_v3) {
    s->push_back({name, type, Keep(code), std::string("0") + char('0' + code),
                  in_v3 ? std::string("0") + char('0' + code) : ""});
  };
  add_byte("persist", PMIX_PERSIST, 2, true);
  add_byte("scope", PMIX_SCOPE, 1, true);
  add_byte("range", PMIX_DATA_RANGE, 3, true);
  add_byte("command", PMIX_COMMAND, 3, true);
  add_byte("proc state", PMIX_PROC_STATE, 5, true);
  add_byte("alloc directive", PMIX_ALLOC_DIRECTIVE, 1, true);
  add_byte("job state", PMIX_JOB_STATE, 3, false);
  add_byte("link state", PMIX_LINK_STATE, 1, false);
  add_byte("block directive", PMIX_RESBLOCK_DIRECTIVE, 4, false);
  add_byte("inheritance", PMIX_ALLOC_INHERIT, 2, false);
  s->push_back({"info directives", PMIX_INFO_DIRECTIVES, Keep<uint32_t>(9),
                "09", "00000009"});
  s->push_back({"data type", PMIX_DATA_TYPE, Keep<uint16_t>(14), "0e", "000e"});
  s->push_back(
      {"iof channel", PMIX_IOF_CHANNEL, Keep<uint16_t>(6), "06", "0006"});
  s->push_back(
      {"locality", PMIX_LOCTYPE, Keep<uint16_t>(0x8001), "818002", ""});
  s->push_back({"device type", PMIX_DEVTYPE, Keep<uint64_t>(4), "04", ""});
  s->push_back({"medium", PMIX_STOR_MEDIUM, Keep<uint64_t>(4), "04", ""});
  s->push_back({"access", PMIX_STOR_ACCESS, Keep<uint64_t>(200), "c801", ""});
  s->push_back(
      {"storage persistence", PMIX_STOR_PERSIST, Keep<uint64_t>(64), "40", ""});
  s->push_back(
      {"access type", PMIX_STOR_ACCESS_TYPE, Keep<uint16_t>(3), "03", ""});
}

void AddText(std::vector<Sample>* s) {
  s->push_back({"string", PMIX_STRING, Keep<char*>(Text("hello")),
                "0c 68656c6c6f00", "00000006 68656c6c6f00"});
  s->push_back({"empty string", PMIX_STRING, Keep<char*>(Text("")), "02 00",
                "00000001 00"});
  s->push_back(
      {"null string", PMIX_STRING, Keep<char*>(nullptr), "00", "00000000"});
  const pmix_byte_object_t bytes = {Text("ab\0c"), 4};
  const std::string bytes_v3 = "000f 0000000000000004 61620063";
  s->push_back(
      {"byte object", PMIX_BYTE_OBJECT, Keep(bytes), "04 61620063", bytes_v3});
  s->push_back({"no bytes", PMIX_BYTE_OBJECT, Keep<pmix_byte_object_t>({}),
                "00", "000f 0000000000000000"});
  s->push_back({"compressed string", PMIX_COMPRESSED_STRING, Keep(bytes),
                "04 61620063", bytes_v3});
  s->push_back({"compressed bytes", PMIX_COMPRESSED_BYTE_OBJECT, Keep(bytes),
                "04 61620063", ""});
  s->push_back({"regex", PMIX_REGEX,
                Keep<pmix_byte_object_t>({Text("pmix[n[1:1-2]]"), 15}),
                "706d69785b6e5b313a312d325d5d00", ""});
  s->push_back({"raw regex", PMIX_REGEX,
                Keep<pmix_byte_object_t>({Text("raw:0,1;2"), 10}),
                "7261773a302c313b3200", ""});
  s->push_back({"blob regex", PMIX_REGEX,
                Keep<pmix_byte_object_t>(
                    {Text("blob\0component=zlib:\0002\0:x\001"), 26}),
                "626c6f6200 636f6d706f6e656e743d7a6c69623a00 3200 3a 7801",
                ""});
  struct Nspace {
    pmix_nspace_t text;
  };
  s->push_back({"nspace", PMIX_PROC_NSPACE, Keep<Nspace>({"myns"}),
                "0a 6d796e7300", ""});
}

void AddProcs(std::vector<Sample>* s) {
  s->push_back({"proc", PMIX_PROC, Keep(SampleProc()), kProcModern, kProcV3});
  pmix_proc_info_t info = {};
  info.proc = SampleProc();
  info.hostname = Text("h");
  info.executable_name = Text("x");
  info.pid = 9;
  info.state = 5;
  s->push_back(
      {"proc info", PMIX_PROC_INFO, Keep(info),
       Join({kProcModern, "04 6800 04 7800 0e 09 05"}),
       Join({kProcV3, "00000002 6800 00000002 7800 000e 00000009 05"})});
  info.exit_code = 3;
  s->push_back({"proc info with exit code", PMIX_PROC_INFO, Keep(info),
                Join({kProcModern, "04 6800 04 7800 0e 09 05"}),
                Join({kProcV3, "00000002 6800 00000002 7800 000e 00000009 05"}),
                false});
}

void AddComposites(std::vector<Sample>* s) {
  s->push_back({"info", PMIX_INFO, Keep(RequiredInfo()), "06 6b3200 01 0e 05",
                "00000003 6b3200 00000001 000e 00000005"});
  pmix_value_t value = {};
  s->push_back({"empty value", PMIX_VALUE, Keep(value), "00", "0000"});
  value.type = PMIX_SIZE;
  value.data.size = 300;
  s->push_back({"value", PMIX_VALUE, Keep(value), "04 ac02",
                "0004 000f 000000000000012c"});
  value.type = PMIX_PROC;
  value.data.proc =
      static_cast<pmix_proc_t*>(const_cast<void*>(Keep(SampleProc())));
  s->push_back({"value of a proc", PMIX_VALUE, Keep(value),
                Join({"16", kProcModern}), Join({"0016", kProcV3})});

  pmix_pdata_t pdata = {};
  pdata.proc = SampleProc();
  strcpy(pdata.key, "k");
  pdata.value.type = PMIX_UINT32;
  pdata.value.data.uint32 = 5;
  s->push_back({"pdata", PMIX_PDATA, Keep(pdata),
                Join({kProcModern, "04 6b00 0e 05"}),
                Join({kProcV3, "00000002 6b00 000e 00000005"})});

  static char* env[] = {Text("X=1"), nullptr};
  pmix_app_t app = {};
  app.cmd = Text("cmd");
  app.argv = TwoStrings();
  app.env = env;
  app.cwd = Text("/w");
  app.maxprocs = 2;
  app.info = TwoInfos();
  app.ninfo = 2;
  s->push_back(
      {"app", PMIX_APP, Keep(app),
       Join({"08 636d6400 04 04 6100 04 6200 02 08 583d3100 06 2f7700 04 02",
             kTwoInfosModern}),
       Join({"00000004 636d6400 0009 00000002 00000002 6100 00000002 6200",
             "00000001 00000004 583d3100 00000003 2f7700 0009 00000002",
             "000f 0000000000000002", kTwoInfosV3})});

  pmix_query_t query = {TwoStrings(), TwoInfos(), 1};
  s->push_back({"query", PMIX_QUERY, Keep(query),
                "04 04 6100 04 6200 01 06 6b3100 00 03 06 763100",
                "00000002 00000002 6100 00000002 6200 000f 0000000000000001"
                "00000003 6b3100 00000000 0003 00000003 763100"});
  s->push_back({"envar", PMIX_ENVAR,
                Keep<pmix_envar_t>({Text("A"), Text("b"), ':'}),
                "04 4100 04 6200 3a", "00000002 4100 00000002 6200 3a"});
}

void AddArrays(std::vector<Sample>* s) {
  static int32_t numbers[] = {1, -2, 3};
  s->push_back({"int32 array", PMIX_DATA_ARRAY,
                Keep<pmix_data_array_t>({PMIX_INT32, 3, numbers}),
                "09 03 02 03 06",
                "0009 000f 0000000000000003 00000001 fffffffe 00000003"});
  s->push_back({"info array", PMIX_DATA_ARRAY,
                Keep<pmix_data_array_t>({PMIX_INFO, 2, TwoInfos()}),
                Join({"18 02", kTwoInfosModern}),
                Join({"0018 000f 0000000000000002", kTwoInfosV3})});
  static pmix_data_array_t inner[] = {{PMIX_INT32, 1, numbers},
                                      {PMIX_STRING, 2, TwoStrings()}};
  s->push_back({"array of arrays", PMIX_DATA_ARRAY,
                Keep<pmix_data_array_t>({PMIX_DATA_ARRAY, 2, inner}),
                "27 02 09 01 02 03 02 04 6100 04 6200",
                "0027 000f 0000000000000002"
                "0009 000f 0000000000000001 00000001"
                "0003 000f 0000000000000002 00000002 6100 00000002 6200"});
  s->push_back({"empty array", PMIX_DATA_ARRAY,
                Keep<pmix_data_array_t>({PMIX_INFO, 0, nullptr}), "18 00",
                "0018 000f 0000000000000000"});
  s->push_back({"array without a type", PMIX_DATA_ARRAY,
                Keep<pmix_data_array_t>({PMIX_UNDEF, 0, nullptr}), "18 00",
                "0018 000f 0000000000000000", false});
  static void* pointers[3] = {};
  s->push_back({"pointer array", PMIX_DATA_ARRAY,
                Keep<pmix_data_array_t>({PMIX_POINTER, 3, pointers}),
                "1f 03 01", "001f 000f 0000000000000003 01"});
}

void AddFabric(std::vector<Sample>* s) {
  s->push_back({"coord", PMIX_COORD, Keep(SampleCoord()), "01 02 07 ac02", ""});
  static pmix_coord_t coords[] = {SampleCoord()};
  s->push_back({"geometry", PMIX_GEOMETRY,
                Keep<pmix_geometry_t>({5, Text("u"), Text("o"), coords, 1}),
                "05 04 7500 04 6f00 01 01 02 07 ac02", ""});
  s->push_back({"device distance", PMIX_DEVICE_DIST,
                Keep<pmix_device_distance_t>({Text("u"), Text("o"), 4, 1, 2}),
                "04 7500 04 6f00 04 01 02", ""});
  s->push_back({"endpoint", PMIX_ENDPOINT,
                Keep<pmix_endpoint_t>({Text("u"), Text("o"), {Text("xy"), 2}}),
                "04 7500 04 6f00 02 7879", ""});
  pmix_regattr_t attribute = {};
  attribute.name = Text("N");
  strcpy(attribute.string, "s");
  attribute.type = PMIX_UINT32;
  attribute.description = TwoStrings();
  s->push_back({"regattr", PMIX_REGATTR, Keep(attribute),
                "04 4e00 04 7300 0e 04 04 6100 04 6200", ""});
}

void AddStatistics(std::vector<Sample>* s) {
  static pmix_disk_stats_t disk = {Text("d"), 1, 2, 3, 4,  5,
                                   6,         7, 8, 9, 10, 11};
  const std::string disk_bytes = "04 6400 01 02 03 04 05 06 07 08 09 0a 0b";
  s->push_back({"disk stats", PMIX_DISK_STATS, Keep(disk), disk_bytes, ""});
  static pmix_net_stats_t net = {Text("e"), 1, 2, 3, 4, 5, 6};
  const std::string net_bytes = "04 6500 01 02 03 04 05 06";
  s->push_back({"net stats", PMIX_NET_STATS, Keep(net), net_bytes, ""});

  pmix_proc_stats_t proc = {};
  proc.node = Text("n");
  proc.proc = SampleProc();
  proc.pid = 4;
  proc.cmd = Text("c");
  proc.state = 'R';
  proc.time = {5, 6};
  proc.priority = -3;
  proc.num_threads = 2;
  proc.pss = 2.5f;
  proc.vsize = 3.5f;
  proc.rss = 4.5f;
  proc.processor = 6;
  proc.sample_time = {5, 6};
  s->push_back({"proc stats", PMIX_PROC_STATS, Keep(proc),
                Join({"04 6e00", kProcModern, "0e 04 04 6300 52 0a 0c 05 04",
                      "12 322e35303030303000 12 332e35303030303000",
                      "12 342e35303030303000 0c 0a 0c"}),
                ""});
  pmix_node_stats_t node = {};
  node.node = Text("n");
  node.la = 1.5f;
  node.sample_time = {5, 6};
  node.diskstats = &disk;
  node.ndiskstats = 1;
  node.netstats = &net;
  node.nnetstats = 1;
  const std::string zero = "12 302e30303030303000";
  s->push_back({"node stats", PMIX_NODE_STATS, Keep(node),
                Join({"04 6e00 12 312e35303030303000", zero, zero, zero, zero,
                      zero, zero, zero, zero, zero, zero, "0a 0c 01",
                      disk_bytes, "01", net_bytes}),
                ""});
}

void AddNewest(std::vector<Sample>* s) {
  static char content[] = {2, 5, 2, 6};
  pmix_data_buffer_t buffer = {};
  buffer.base_ptr = buffer.unpack_ptr = content;
  buffer.pack_ptr = content + 4;
  buffer.bytes_allocated = buffer.bytes_used = 4;
  s->push_back(
      {"data buffer", PMIX_DATA_BUFFER, Keep(buffer), "04 02050206", ""});
  s->push_back({"device", PMIX_DEVICE,
                Keep<pmix_device_t>({Text("u"), Text("o"), 4}),
                "04 7500 04 6f00 04", ""});
  s->push_back({"resource unit", PMIX_RESOURCE_UNIT,
                Keep<pmix_resource_unit_t>({4, 300}), "04 ac02", ""});
  s->push_back({"node pid", PMIX_NODE_PID,
                Keep<pmix_node_pid_t>({Text("h"), 7, 9}), "04 6800 07 0e 09",
                ""});
  static uint8_t bytes[] = {1, 0, 2};
  s->push_back({"regex2", PMIX_REGEX2,
                Keep<pmix_regex2_t>({Text("t"), bytes, 3}), "04 7400 03 010002",
                ""});
}

}  // namespace

const std::vector<Sample>& Samples() {
  static const std::vector<Sample>* const samples = [] {
    auto* s = new std::vector<Sample>;
    AddNumbers(s);
    AddCodes(s);
    AddText(s);
    AddProcs(s);
    AddComposites(s);
    AddArrays(s);
    AddFabric(s);
    AddStatistics(s);
    AddNewest(s);
    return s;
  }();
  return *samples;
}

}  // namespace canopy
