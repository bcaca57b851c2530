#include "common/values/struct_text.h"

#include <array>
#include <cinttypes>
#include <cstddef>

#include "common/values/hwloc_access.h"
#include "common/values/memory.h"
#include "common/values/print.h"
#include "common/values/simple_text.h"

namespace canopy {
namespace {

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

std::string PrintTopology(const Page& page) {
  const auto& topology = As<pmix_topology_t>(page.element);
  const auto levels = TopologyText(topology);
  return Format("%sData type: PMIX_TOPO\tSource: %s\tValue: %s",
                page.prefix.c_str(), OrNull(topology.source),
                levels ? levels->c_str() : "UNPRINTABLE");
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

// Printers of the types that have structure. The other types print one text.
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
  printers[PMIX_TOPO] = PrintTopology;
  return printers;
}();

}  // namespace

std::string Page::Sub(pmix_data_type_t type, const void* inner) const {
  return PrintElement(type, inner, prefix, depth + 1);
}

Printer PrinterOf(pmix_data_type_t type) { return kPrinters[type]; }

}  // namespace canopy
