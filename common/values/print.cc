#include "common/values/print.h"

#include <sys/time.h>

#include <array>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <span>

#include "client/include/pmix_tables.h"
#include "common/values/hwloc_access.h"
#include "common/values/memory.h"
#include "common/values/value_ops.h"

namespace canopy {
namespace {

template <typename T>
const T& As(const void* element) {
  return *static_cast<const T*>(element);
}

__attribute__((format(printf, 1, 2))) std::string Format(const char* format,
                                                         ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const int length = vsnprintf(nullptr, 0, format, args);
  va_end(args);
  std::string text(length < 0 ? 0 : static_cast<size_t>(length), '\0');
  vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

const char* OrNull(const char* text) { return text == nullptr ? "NULL" : text; }

std::string TimeText(time_t time) {
  tm parts;
  char text[64];
  if (localtime_r(&time, &parts) == nullptr) {
    return Format("%jd", intmax_t{time});
  }
  return strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &parts) == 0
             ? ""
             : text;
}

std::string TimevalText(const timeval& time) {
  return Format("%jd.%06jd", intmax_t{time.tv_sec}, intmax_t{time.tv_usec});
}

std::string RankText(pmix_rank_t rank) {
  switch (rank) {
    case PMIX_RANK_UNDEF:
      return "PMIX_RANK_UNDEF";
    case PMIX_RANK_WILDCARD:
      return "PMIX_RANK_WILDCARD";
    case PMIX_RANK_LOCAL_NODE:
      return "PMIX_RANK_LOCAL_NODE";
    default:
      return std::to_string(rank);
  }
}

struct Flag {
  uint64_t bit;
  const char* name;
};

constexpr Flag kLocalities[] = {
    {PMIX_LOCALITY_SHARE_HWTHREAD, "HWTHREAD"},
    {PMIX_LOCALITY_SHARE_CORE, "CORE"},
    {PMIX_LOCALITY_SHARE_L1CACHE, "L1"},
    {PMIX_LOCALITY_SHARE_L2CACHE, "L2"},
    {PMIX_LOCALITY_SHARE_L3CACHE, "L3"},
    {PMIX_LOCALITY_SHARE_PACKAGE, "PACKAGE"},
    {PMIX_LOCALITY_SHARE_NUMA, "NUMA"},
    {PMIX_LOCALITY_SHARE_NODE, "NODE"},
    {PMIX_LOCALITY_NONLOCAL, "NONLOCAL"},
};
constexpr Flag kMedia[] = {
    {PMIX_STORAGE_MEDIUM_UNKNOWN, "UNKNOWN"},
    {PMIX_STORAGE_MEDIUM_TAPE, "TAPE"},
    {PMIX_STORAGE_MEDIUM_HDD, "HDD"},
    {PMIX_STORAGE_MEDIUM_SSD, "SSD"},
    {PMIX_STORAGE_MEDIUM_NVME, "NVME"},
    {PMIX_STORAGE_MEDIUM_PMEM, "PMEM"},
    {PMIX_STORAGE_MEDIUM_RAM, "RAM"},
};
constexpr Flag kAccessibilities[] = {
    {PMIX_STORAGE_ACCESSIBILITY_NODE, "NODE"},
    {PMIX_STORAGE_ACCESSIBILITY_SESSION, "SESSION"},
    {PMIX_STORAGE_ACCESSIBILITY_JOB, "JOB"},
    {PMIX_STORAGE_ACCESSIBILITY_RACK, "RACK"},
    {PMIX_STORAGE_ACCESSIBILITY_CLUSTER, "CLUSTER"},
    {PMIX_STORAGE_ACCESSIBILITY_REMOTE, "REMOTE"},
};
constexpr Flag kStoragePersistences[] = {
    {PMIX_STORAGE_PERSISTENCE_TEMPORARY, "TEMPORARY"},
    {PMIX_STORAGE_PERSISTENCE_NODE, "NODE"},
    {PMIX_STORAGE_PERSISTENCE_SESSION, "SESSION"},
    {PMIX_STORAGE_PERSISTENCE_JOB, "JOB"},
    {PMIX_STORAGE_PERSISTENCE_SCRATCH, "SCRATCH"},
    {PMIX_STORAGE_PERSISTENCE_PROJECT, "PROJECT"},
    {PMIX_STORAGE_PERSISTENCE_ARCHIVE, "ARCHIVE"},
};
constexpr Flag kAccesses[] = {
    {PMIX_STORAGE_ACCESS_RD, "READ"},
    {PMIX_STORAGE_ACCESS_WR, "WRITE"},
};
constexpr Flag kChannels[] = {
    {PMIX_FWD_STDIN_CHANNEL, "STDIN"},
    {PMIX_FWD_STDOUT_CHANNEL, "STDOUT"},
    {PMIX_FWD_STDERR_CHANNEL, "STDERR"},
    {PMIX_FWD_STDDIAG_CHANNEL, "STDDIAG"},
};

std::string FlagsText(std::span<const Flag> flags, uint64_t bits, char between,
                      const char* none) {
  std::string text;
  for (const Flag& flag : flags) {
    if ((bits & flag.bit) == 0) continue;
    if (!text.empty()) text.push_back(between);
    text.append(flag.name);
  }
  return text.empty() ? none : text;
}

std::string DirectivesText(pmix_info_directives_t directives) {
  if ((directives & PMIX_INFO_QUALIFIER) != 0) return "QUALIFIER";
  std::string text =
      (directives & PMIX_INFO_REQD) != 0 ? "REQUIRED" : "OPTIONAL";
  if ((directives & PMIX_INFO_REQD_PROCESSED) != 0) text += ":PROCESSED";
  if ((directives & PMIX_INFO_ARRAY_END) != 0) text += ":END";
  return text;
}

// What a type that is one number prints, when the number stands for something.
// Empty for plain numbers.
std::string NamedText(pmix_data_type_t type, const void* e) {
  const auto byte_name = [e](const char* enumeration) {
    return std::string(ConstantText(enumeration, As<uint8_t>(e), "UNKNOWN"));
  };
  switch (type) {
    case PMIX_BOOL:
      return As<bool>(e) ? "TRUE" : "FALSE";
    case PMIX_STATUS:
      return ConstantText("pmix_status_t", As<pmix_status_t>(e),
                          "ERROR STRING NOT FOUND");
    case PMIX_PROC_RANK:
      return RankText(As<pmix_rank_t>(e));
    case PMIX_SCOPE:
      return byte_name("pmix_scope_t");
    case PMIX_DATA_RANGE:
      return byte_name("pmix_data_range_t");
    case PMIX_PROC_STATE:
      return byte_name("pmix_proc_state_t");
    case PMIX_JOB_STATE:
      return byte_name("pmix_job_state_t");
    case PMIX_LINK_STATE:
      return byte_name("pmix_link_state_t");
    case PMIX_ALLOC_DIRECTIVE:
      return byte_name("pmix_alloc_directive_t");
    case PMIX_RESBLOCK_DIRECTIVE:
      return byte_name("pmix_resource_block_directive_t");
    case PMIX_ALLOC_INHERIT:
      return byte_name("pmix_alloc_inheritance_t");
    case PMIX_DATA_TYPE:
      return ConstantText("pmix_data_type_t", As<pmix_data_type_t>(e),
                          "UNKNOWN");
    case PMIX_DEVTYPE:
      return ConstantText("pmix_device_type_t",
                          static_cast<int64_t>(As<pmix_device_type_t>(e)),
                          "UNKNOWN");
    case PMIX_INFO_DIRECTIVES:
      return DirectivesText(As<pmix_info_directives_t>(e));
    case PMIX_IOF_CHANNEL:
      return FlagsText(kChannels, As<pmix_iof_channel_t>(e), ' ', "NONE");
    case PMIX_LOCTYPE:
      return FlagsText(kLocalities, As<pmix_locality_t>(e), ':', "UNKNOWN");
    case PMIX_STOR_MEDIUM:
      return FlagsText(kMedia, As<uint64_t>(e), ':', "NONE");
    case PMIX_STOR_ACCESS:
      return FlagsText(kAccessibilities, As<uint64_t>(e), ':', "NONE");
    case PMIX_STOR_PERSIST:
      return FlagsText(kStoragePersistences, As<uint64_t>(e), ':', "NONE");
    case PMIX_STOR_ACCESS_TYPE:
      return FlagsText(kAccesses, As<uint16_t>(e), ':', "NONE");
    default:
      return "";
  }
}

std::string PlainText(pmix_data_type_t type, const Field& field,
                      const void* e) {
  switch (field.shape) {
    case Shape::kByte:
      return Format(type == PMIX_BYTE ? "%02x" : "%u", As<uint8_t>(e));
    case Shape::kInt8:
      return Format("%d", As<int8_t>(e));
    case Shape::kInt16:
      return Format("%d", As<int16_t>(e));
    case Shape::kUint16:
      return Format("%u", As<uint16_t>(e));
    case Shape::kInt32:
    case Shape::kInt:
    case Shape::kPid:
      return Format("%d", As<int32_t>(e));
    case Shape::kUint32:
    case Shape::kUint:
      return Format("%u", As<uint32_t>(e));
    case Shape::kInt64:
      return Format("%" PRId64, As<int64_t>(e));
    case Shape::kUint64:
    case Shape::kSize:
      return Format("%" PRIu64, As<uint64_t>(e));
    case Shape::kFloat:
      return Format("%f", static_cast<double>(As<float>(e)));
    case Shape::kDouble:
      return Format("%f", As<double>(e));
    case Shape::kTimeval:
      return TimevalText(As<timeval>(e));
    case Shape::kTime:
      return TimeText(As<time_t>(e));
    case Shape::kString:
      return OrNull(As<const char*>(e));
    case Shape::kName:
      return std::string(LoadName(static_cast<const char*>(e), field.extent));
    case Shape::kRegex:
      return OrNull(As<pmix_byte_object_t>(e).bytes);
    case Shape::kCpuset:
      return CpusetText(As<pmix_cpuset_t>(e)).value_or("NULL");
    default:
      return "UNPRINTABLE";
  }
}

// The text of an element that has no structure.
std::string SimpleText(pmix_data_type_t type, const void* element) {
  std::string named = NamedText(type, element);
  if (!named.empty()) return named;
  return PlainText(type, *FindType(type)->fields, element);
}

// What a type is called in print where that is not its constant's name.
const char* Label(pmix_data_type_t type) {
  if (type == PMIX_LOCTYPE) return "PMIX_LOCALITY";
  if (type == PMIX_DEVTYPE) return "PMIX_DEVICE_TYPE";
  return FindType(type)->name;
}

std::string ProcText(const pmix_proc_t& proc) {
  return std::string(LoadName(proc.nspace, sizeof(proc.nspace))) + ":" +
         RankText(proc.rank);
}

// Everything a structure printer needs.
struct Page {
  const void* element;
  std::string prefix;
  int depth;

  std::string Sub(pmix_data_type_t type, const void* inner) const {
    return PrintElement(type, inner, prefix, depth + 1);
  }
};

std::string PrintProc(const Page& page) {
  return page.prefix + "PROC: " + ProcText(As<pmix_proc_t>(page.element));
}

std::string PrintProcInfo(const Page& page) {
  const auto& info = As<pmix_proc_info_t>(page.element);
  const char* prefix = page.prefix.c_str();
  return Format(
      "%sData type: PMIX_PROC_INFO\tValue:\n%s\tPROC: %s\n"
      "%s\tHostname: %s\tExecutable: %s\n%s\tPid: %d\tExit code: %d\tState: %s",
      prefix, prefix, ProcText(info.proc).c_str(), prefix,
      OrNull(info.hostname), OrNull(info.executable_name), prefix, info.pid,
      info.exit_code, SimpleText(PMIX_PROC_STATE, &info.state).c_str());
}

std::string PrintInfo(const Page& page) {
  const auto& info = As<pmix_info_t>(page.element);
  const std::string& prefix = page.prefix;
  return prefix + "KEY: " + std::string(LoadName(info.key, sizeof(info.key))) +
         "\n" + prefix + "\t" + page.Sub(PMIX_INFO_DIRECTIVES, &info.flags) +
         "\n" + prefix + "\t" + PrintValue(info.value, prefix, page.depth + 1);
}

std::string PrintPdata(const Page& page) {
  const auto& pdata = As<pmix_pdata_t>(page.element);
  return page.prefix + "  " + page.Sub(PMIX_PROC, &pdata.proc) +
         "  KEY: " + std::string(LoadName(pdata.key, sizeof(pdata.key))) + " " +
         PrintValue(pdata.value, page.prefix, page.depth + 1);
}

std::string PrintApp(const Page& page) {
  const auto& app = As<pmix_app_t>(page.element);
  const std::string& prefix = page.prefix;
  std::string text =
      Format("%sData type: PMIX_APP\tCmd: %s\tCwd: %s\tMaxprocs: %d",
             prefix.c_str(), OrNull(app.cmd), OrNull(app.cwd), app.maxprocs);
  for (int i = 0; app.argv != nullptr && app.argv[i] != nullptr; ++i) {
    text += Format("\n%s\tArgv[%d]: %s", prefix.c_str(), i, app.argv[i]);
  }
  for (int i = 0; app.env != nullptr && app.env[i] != nullptr; ++i) {
    text += Format("\n%s\tEnv[%d]: %s", prefix.c_str(), i, app.env[i]);
  }
  for (size_t i = 0; app.info != nullptr && i < app.ninfo; ++i) {
    text += "\n" + PrintElement(PMIX_INFO, &app.info[i], prefix + "\t",
                                page.depth + 1);
  }
  return text;
}

std::string PrintQuery(const Page& page) {
  const auto& query = As<pmix_query_t>(page.element);
  const std::string inner = page.prefix + "\t";
  std::string text = page.prefix + "Data type: PMIX_QUERY\tValue:";
  for (char** key = query.keys; key != nullptr && *key != nullptr; ++key) {
    text += "\n" + inner + "Key: " + *key;
  }
  for (size_t i = 0; query.qualifiers != nullptr && i < query.nqual; ++i) {
    text += "\n" + PrintElement(PMIX_INFO, &query.qualifiers[i], inner,
                                page.depth + 1);
  }
  return text;
}

std::string PrintDataArray(const Page& page) {
  const auto& array = As<pmix_data_array_t>(page.element);
  const TypeInfo* type = FindType(array.type);
  std::string text = Format(
      "%sData type: PMIX_DATA_ARRAY\tType: %s\tSize: %zu", page.prefix.c_str(),
      type == nullptr || type->size == 0 ? "UNKNOWN" : type->name, array.size);
  if (array.array == nullptr || array.size == 0) {
    return text + "\n" + page.prefix + "NULL";
  }
  if (type == nullptr || type->size == 0) return text;
  const char* elements = static_cast<const char*>(array.array);
  for (size_t i = 0; i < array.size; ++i) {
    text +=
        "\n" + page.prefix + page.Sub(array.type, elements + i * type->size);
  }
  return text;
}

std::string PrintBytes(const Page& page, const char* type) {
  return Format("%sData type: %s\tSize: %zu", page.prefix.c_str(), type,
                As<pmix_byte_object_t>(page.element).size);
}

std::string PrintEnvar(const Page& page) {
  const auto& envar = As<pmix_envar_t>(page.element);
  return Format("%sData type: PMIX_ENVAR\tName: %s\tValue: %s\tSeparator: %c",
                page.prefix.c_str(), OrNull(envar.envar), OrNull(envar.value),
                envar.separator == '\0' ? ' ' : envar.separator);
}

std::string PrintCoord(const Page& page) {
  const auto& coord = As<pmix_coord_t>(page.element);
  const char* view = coord.view == PMIX_COORD_LOGICAL_VIEW    ? "LOGICAL"
                     : coord.view == PMIX_COORD_PHYSICAL_VIEW ? "PHYSICAL"
                                                              : "UNDEF";
  return Format("%sData type: PMIX_COORD\tView: %s\tDims: %zu",
                page.prefix.c_str(), view, coord.dims);
}

std::string PrintRegattr(const Page& page) {
  const auto& attribute = As<pmix_regattr_t>(page.element);
  return Format(
      "%sData type: PMIX_REGATTR\tName: %s\tString: %s", page.prefix.c_str(),
      OrNull(attribute.name),
      std::string(LoadName(attribute.string, sizeof(attribute.string)))
          .c_str());
}

std::string PrintGeometry(const Page& page) {
  const auto& geometry = As<pmix_geometry_t>(page.element);
  std::string text = Format(
      "%sData type: PMIX_GEOMETRY\tValue: Fabric: %zu UUID: %s OSName: %s",
      page.prefix.c_str(), geometry.fabric, OrNull(geometry.uuid),
      OrNull(geometry.osname));
  for (size_t i = 0; geometry.coordinates && i < geometry.ncoords; ++i) {
    text += "\n" + page.Sub(PMIX_COORD, &geometry.coordinates[i]);
  }
  return text;
}

std::string PrintDistance(const Page& page) {
  const auto& distance = As<pmix_device_distance_t>(page.element);
  return Format(
      "%sData type: PMIX_DEVICE_DIST\tValue: UUID: %s OSName: %s Type: %s "
      "Min: %u Max: %u",
      page.prefix.c_str(), OrNull(distance.uuid), OrNull(distance.osname),
      SimpleText(PMIX_DEVTYPE, &distance.type).c_str(), distance.mindist,
      distance.maxdist);
}

std::string PrintDevice(const Page& page) {
  const auto& device = As<pmix_device_t>(page.element);
  return Format("%sData type: PMIX_DEVICE\tValue: UUID: %s OSName: %s Type: %s",
                page.prefix.c_str(), OrNull(device.uuid), OrNull(device.osname),
                SimpleText(PMIX_DEVTYPE, &device.type).c_str());
}

std::string PrintEndpoint(const Page& page) {
  const auto& endpoint = As<pmix_endpoint_t>(page.element);
  return Format("%sData type: PMIX_ENDPOINT\tValue: %s(%s) #bytes: %zu",
                page.prefix.c_str(), OrNull(endpoint.uuid),
                OrNull(endpoint.osname), endpoint.endpt.size);
}

std::string PrintUnit(const Page& page) {
  const auto& unit = As<pmix_resource_unit_t>(page.element);
  return Format("%sData type: PMIX_RESOURCE_UNIT\tType: %s\tCount: %zu",
                page.prefix.c_str(),
                SimpleText(PMIX_DEVTYPE, &unit.type).c_str(), unit.count);
}

std::string PrintNodePid(const Page& page) {
  const auto& node = As<pmix_node_pid_t>(page.element);
  return Format("%sData type: PMIX_NODE_PID\tHost: %s\tNodeID: %u\tPid: %d",
                page.prefix.c_str(), OrNull(node.hostname), node.nodeid,
                node.pid);
}

std::string PrintRegex2(const Page& page) {
  const auto& regex = As<pmix_regex2_t>(page.element);
  return Format("%sData type: PMIX_REGEX2\tType: %s\tSize: %zu",
                page.prefix.c_str(), OrNull(regex.type), regex.len);
}

std::string PrintBuffer(const Page& page) {
  return Format("%sPMIX_DATA_BUFFER NumBytesUsed: %zu", page.prefix.c_str(),
                As<pmix_data_buffer_t>(page.element).bytes_used);
}

std::string PrintProcStats(const Page& page) {
  const auto& s = As<pmix_proc_stats_t>(page.element);
  const char* prefix = page.prefix.c_str();
  const std::string nspace(LoadName(s.proc.nspace, sizeof(s.proc.nspace)));
  return Format(
      "%sPMIX_PROC_STATS SAMPLED AT: %s\n"
      "%snode: %s proc: [%s,%s] pid: %d cmd: %s state: %c pri: %d "
      "#threads: %u Processor: %u\n"
      "%s\ttime: %s cpu: %5.2f  PSS: %8.2f  VMsize: %8.2f PeakVMSize: %8.2f "
      "RSS: %8.2f\n",
      prefix, TimevalText(s.sample_time).c_str(), prefix, OrNull(s.node),
      nspace.c_str(), RankText(s.proc.rank).c_str(), s.pid, OrNull(s.cmd),
      s.state == '\0' ? ' ' : s.state, s.priority, s.num_threads, s.processor,
      prefix, TimevalText(s.time).c_str(), double{s.percent_cpu}, double{s.pss},
      double{s.vsize}, double{s.peak_vsize}, double{s.rss});
}

std::string PrintDiskStats(const Page& page) {
  const auto& s = As<pmix_disk_stats_t>(page.element);
  const char* prefix = page.prefix.c_str();
  return Format(
      "%sPMIX_DISK_STATS Disk: %s\n"
      "%sNumReadsCompleted: %" PRIx64 " NumReadsMerged: %" PRIx64
      " NumSectorsRead: %" PRIx64 " MillisecReading: %" PRIx64
      "\n%sNumWritesCompleted: %" PRIx64 " NumWritesMerged: %" PRIx64
      " NumSectorsWrote: %" PRIx64 " MillisecWriting: %" PRIx64
      "\n%sNumIOsInProgress: %" PRIx64 " MillisecondsIO: %" PRIx64
      " WeightedMillisecsIO: %" PRIx64 "\n",
      prefix, OrNull(s.disk), prefix, s.num_reads_completed, s.num_reads_merged,
      s.num_sectors_read, s.milliseconds_reading, prefix,
      s.num_writes_completed, s.num_writes_merged, s.num_sectors_written,
      s.milliseconds_writing, prefix, s.num_ios_in_progress, s.milliseconds_io,
      s.weighted_milliseconds_io);
}

std::string PrintNetStats(const Page& page) {
  const auto& s = As<pmix_net_stats_t>(page.element);
  const char* prefix = page.prefix.c_str();
  return Format(
      "%sPMIX_NET_STATS Interface: %s\n"
      "%sNumBytesRecvd: %" PRIx64 " NumPacketsRecv: %" PRIx64
      " NumRecvErrors: %" PRIx64 "\n%sNumBytesSent: %" PRIx64
      " NumPacketsSent: %" PRIx64 " NumSendErrors: %" PRIx64 "\n",
      prefix, OrNull(s.net_interface), prefix, s.num_bytes_recvd,
      s.num_packets_recvd, s.num_recv_errs, prefix, s.num_bytes_sent,
      s.num_packets_sent, s.num_send_errs);
}

std::string PrintNodeStats(const Page& page) {
  const auto& s = As<pmix_node_stats_t>(page.element);
  const char* prefix = page.prefix.c_str();
  return Format(
      "%sPMIX_NODE_STATS SAMPLED AT: %s\tNode: %s\n"
      "%sTotal Mem: %5.2f Free Mem: %5.2f Buffers: %5.2f Cached: %5.2f\n"
      "%sSwapCached: %5.2f SwapTotal: %5.2f SwapFree: %5.2f Mapped: %5.2f\n"
      "%s\tla: %5.2f\tla5: %5.2f\tla15: %5.2f\n",
      prefix, TimevalText(s.sample_time).c_str(), OrNull(s.node), prefix,
      double{s.total_mem}, double{s.free_mem}, double{s.buffers},
      double{s.cached}, prefix, double{s.swap_cached}, double{s.swap_total},
      double{s.swap_free}, double{s.mapped}, prefix, double{s.la},
      double{s.la5}, double{s.la15});
}

using Printer = std::string (*)(const Page&);

// Printers of the types that have structure; the others are one text.
constexpr std::array<Printer, kNumTypes> kPrinters = [] {
  std::array<Printer, kNumTypes> printers{};
  printers[PMIX_PROC] = PrintProc;
  printers[PMIX_APP] = PrintApp;
  printers[PMIX_INFO] = PrintInfo;
  printers[PMIX_PDATA] = PrintPdata;
  printers[PMIX_PROC_INFO] = PrintProcInfo;
  printers[PMIX_DATA_ARRAY] = PrintDataArray;
  printers[PMIX_QUERY] = PrintQuery;
  printers[PMIX_ENVAR] = PrintEnvar;
  printers[PMIX_COORD] = PrintCoord;
  printers[PMIX_REGATTR] = PrintRegattr;
  printers[PMIX_GEOMETRY] = PrintGeometry;
  printers[PMIX_DEVICE_DIST] = PrintDistance;
  printers[PMIX_ENDPOINT] = PrintEndpoint;
  printers[PMIX_PROC_STATS] = PrintProcStats;
  printers[PMIX_DISK_STATS] = PrintDiskStats;
  printers[PMIX_NET_STATS] = PrintNetStats;
  printers[PMIX_NODE_STATS] = PrintNodeStats;
  printers[PMIX_DATA_BUFFER] = PrintBuffer;
  printers[PMIX_DEVICE] = PrintDevice;
  printers[PMIX_RESOURCE_UNIT] = PrintUnit;
  printers[PMIX_NODE_PID] = PrintNodePid;
  printers[PMIX_REGEX2] = PrintRegex2;
  return printers;
}();

}  // namespace

std::string PrintElement(pmix_data_type_t id, const void* element,
                         std::string_view prefix, int depth) {
  const std::string start(prefix);
  const TypeInfo* type = FindType(id);
  if (type == nullptr || type->size == 0) {
    return start + Format("Data type: UNKNOWN(%u)\tValue: UNPRINTABLE", id);
  }
  if (element == nullptr) {
    return start + "Data type: " + Label(id) + "\tValue: NULL pointer";
  }
  if (depth > kMaxNesting) return start + "...";
  if (id == PMIX_VALUE) {
    return PrintValue(As<pmix_value_t>(element), prefix, depth);
  }
  const Page page = {element, start, depth};
  if (kPrinters[id] != nullptr) return kPrinters[id](page);
  if (type->fields->shape == Shape::kBytes) return PrintBytes(page, type->name);
  if (id == PMIX_POINTER) {
    return start +
           Format("Data type: PMIX_POINTER\tAddress: %p", As<void*>(element));
  }
  return start + "Data type: " + Label(id) +
         "\tValue: " + SimpleText(id, element);
}

std::string PrintValue(const pmix_value_t& value, std::string_view prefix,
                       int depth) {
  const std::string start = std::string(prefix) + "PMIX_VALUE: ";
  if (value.type == PMIX_UNDEF) return start + " Data type: PMIX_UNDEF";
  const TypeInfo* type = FindType(value.type);
  const void* element = type == nullptr ? nullptr : ValueElement(*type, value);
  return start + PrintElement(value.type, element, " ", depth + 1);
}

std::string ShortText(const pmix_value_t& value) {
  const TypeInfo* type = FindType(value.type);
  if (type == nullptr || type->size == 0) return "";
  const void* element = ValueElement(*type, value);
  if (element == nullptr) return "NULL";
  if (value.type == PMIX_PROC) return ProcText(As<pmix_proc_t>(element));
  if (value.type == PMIX_DATA_ARRAY) {
    const auto& array = As<pmix_data_array_t>(element);
    const TypeInfo* inner = FindType(array.type);
    return Format("%zu x %s", array.size,
                  inner == nullptr ? "UNKNOWN" : inner->name);
  }
  if (type->fields->shape == Shape::kBytes) {
    return Format("%zu bytes", As<pmix_byte_object_t>(element).size);
  }
  if (kPrinters[value.type] != nullptr) return type->name;
  return SimpleText(value.type, element);
}

}  // namespace canopy
