#include "common/values/type_table.h"

namespace canopy {
namespace {

constexpr uint8_t MinWireBytes(Shape shape) {
  switch (shape) {
    case Shape::kPointer:
    case Shape::kTopology:
      return 0;
    case Shape::kPid:
    case Shape::kTimeval:
      return 2;
    default:
      return 1;
  }
}

template <size_t N>
constexpr uint8_t MinWireBytes(const Field (&fields)[N]) {
  uint8_t total = 0;
  for (const Field& field : fields) {
    if (field.on_wire) total += MinWireBytes(field.shape);
  }
  return total;
}

// The single member of each simple type.
constexpr Field kBool[] = {{Shape::kBool}};
constexpr Field kByte[] = {{Shape::kByte}};
constexpr Field kInt8[] = {{Shape::kInt8}};
constexpr Field kInt16[] = {{Shape::kInt16}};
constexpr Field kInt32[] = {{Shape::kInt32}};
constexpr Field kInt64[] = {{Shape::kInt64}};
constexpr Field kUint16[] = {{Shape::kUint16}};
constexpr Field kUint32[] = {{Shape::kUint32}};
constexpr Field kUint64[] = {{Shape::kUint64}};
constexpr Field kInt[] = {{Shape::kInt}};
constexpr Field kUint[] = {{Shape::kUint}};
constexpr Field kSize[] = {{Shape::kSize}};
constexpr Field kPid[] = {{Shape::kPid}};
constexpr Field kFloat[] = {{Shape::kFloat}};
constexpr Field kDouble[] = {{Shape::kDouble}};
constexpr Field kTimeval[] = {{Shape::kTimeval}};
constexpr Field kTime[] = {{Shape::kTime}};
constexpr Field kPointer[] = {{Shape::kPointer}};
constexpr Field kString[] = {{Shape::kString}};
constexpr Field kNspace[] = {{Shape::kName, 0, sizeof(pmix_nspace_t)}};
constexpr Field kBytes[] = {{Shape::kBytes}};
constexpr Field kRegex[] = {{Shape::kRegex}};
constexpr Field kBuffer[] = {{Shape::kBuffer}};
constexpr Field kValue[] = {{Shape::kValue}};
constexpr Field kDataArray[] = {{Shape::kDataArray}};
constexpr Field kCpuset[] = {{Shape::kCpuset}};
constexpr Field kTopology[] = {{Shape::kTopology}};

// Structures, with their members in wire order. Members that peers do not send
// are marked.
constexpr Field kProc[] = {
    {Shape::kName, offsetof(pmix_proc_t, nspace), sizeof(pmix_nspace_t)},
    {Shape::kUint32, offsetof(pmix_proc_t, rank)},
};

constexpr Field kApp[] = {
    {Shape::kString, offsetof(pmix_app_t, cmd)},
    {Shape::kStrings, offsetof(pmix_app_t, argv), 0, PMIX_STRING,
     CountForm::kInt},
    {Shape::kStrings, offsetof(pmix_app_t, env), 0, PMIX_STRING,
     CountForm::kInt32},
    {Shape::kString, offsetof(pmix_app_t, cwd)},
    {Shape::kInt, offsetof(pmix_app_t, maxprocs)},
    {Shape::kList, offsetof(pmix_app_t, info), offsetof(pmix_app_t, ninfo),
     PMIX_INFO},
};

constexpr Field kInfo[] = {
    {Shape::kName, offsetof(pmix_info_t, key), sizeof(pmix_key_t)},
    {Shape::kUint32, offsetof(pmix_info_t, flags)},
    {Shape::kValue, offsetof(pmix_info_t, value)},
};

constexpr Field kPdata[] = {
    {Shape::kStruct, offsetof(pmix_pdata_t, proc), 0, PMIX_PROC},
    {Shape::kName, offsetof(pmix_pdata_t, key), sizeof(pmix_key_t)},
    {Shape::kValue, offsetof(pmix_pdata_t, value)},
};

constexpr Field kProcInfo[] = {
    {Shape::kStruct, offsetof(pmix_proc_info_t, proc), 0, PMIX_PROC},
    {Shape::kString, offsetof(pmix_proc_info_t, hostname)},
    {Shape::kString, offsetof(pmix_proc_info_t, executable_name)},
    {Shape::kPid, offsetof(pmix_proc_info_t, pid)},
    {Shape::kByte, offsetof(pmix_proc_info_t, state)},
    {Shape::kInt, offsetof(pmix_proc_info_t, exit_code), 0, PMIX_UNDEF,
     CountForm::kSize, false},
};

constexpr Field kQuery[] = {
    {Shape::kStrings, offsetof(pmix_query_t, keys), 0, PMIX_STRING,
     CountForm::kInt32},
    {Shape::kList, offsetof(pmix_query_t, qualifiers),
     offsetof(pmix_query_t, nqual), PMIX_INFO},
};

constexpr Field kEnvar[] = {
    {Shape::kString, offsetof(pmix_envar_t, envar)},
    {Shape::kString, offsetof(pmix_envar_t, value)},
    {Shape::kByte, offsetof(pmix_envar_t, separator)},
};

constexpr Field kCoord[] = {
    {Shape::kByte, offsetof(pmix_coord_t, view)},
    {Shape::kList, offsetof(pmix_coord_t, coord), offsetof(pmix_coord_t, dims),
     PMIX_UINT32},
};

constexpr Field kRegattr[] = {
    {Shape::kString, offsetof(pmix_regattr_t, name)},
    {Shape::kName, offsetof(pmix_regattr_t, string), sizeof(pmix_key_t)},
    {Shape::kUint16, offsetof(pmix_regattr_t, type)},
    {Shape::kStrings, offsetof(pmix_regattr_t, description), 0, PMIX_STRING,
     CountForm::kInt32},
};

constexpr Field kGeometry[] = {
    {Shape::kSize, offsetof(pmix_geometry_t, fabric)},
    {Shape::kString, offsetof(pmix_geometry_t, uuid)},
    {Shape::kString, offsetof(pmix_geometry_t, osname)},
    {Shape::kList, offsetof(pmix_geometry_t, coordinates),
     offsetof(pmix_geometry_t, ncoords), PMIX_COORD},
};

constexpr Field kDeviceDistance[] = {
    {Shape::kString, offsetof(pmix_device_distance_t, uuid)},
    {Shape::kString, offsetof(pmix_device_distance_t, osname)},
    {Shape::kUint64, offsetof(pmix_device_distance_t, type)},
    {Shape::kUint16, offsetof(pmix_device_distance_t, mindist)},
    {Shape::kUint16, offsetof(pmix_device_distance_t, maxdist)},
};

constexpr Field kEndpoint[] = {
    {Shape::kString, offsetof(pmix_endpoint_t, uuid)},
    {Shape::kString, offsetof(pmix_endpoint_t, osname)},
    {Shape::kBytes, offsetof(pmix_endpoint_t, endpt)},
};

constexpr Field kDevice[] = {
    {Shape::kString, offsetof(pmix_device_t, uuid)},
    {Shape::kString, offsetof(pmix_device_t, osname)},
    {Shape::kUint64, offsetof(pmix_device_t, type)},
};

constexpr Field kResourceUnit[] = {
    {Shape::kUint64, offsetof(pmix_resource_unit_t, type)},
    {Shape::kSize, offsetof(pmix_resource_unit_t, count)},
};

constexpr Field kNodePid[] = {
    {Shape::kString, offsetof(pmix_node_pid_t, hostname)},
    {Shape::kUint32, offsetof(pmix_node_pid_t, nodeid)},
    {Shape::kPid, offsetof(pmix_node_pid_t, pid)},
};

constexpr Field kRegex2[] = {
    {Shape::kString, offsetof(pmix_regex2_t, type)},
    {Shape::kList, offsetof(pmix_regex2_t, bytes), offsetof(pmix_regex2_t, len),
     PMIX_BYTE},
};

// Peers do not send the percentage and the peak, and send the unsigned 16-bit
// members as signed numbers.
constexpr Field kProcStats[] = {
    {Shape::kString, offsetof(pmix_proc_stats_t, node)},
    {Shape::kStruct, offsetof(pmix_proc_stats_t, proc), 0, PMIX_PROC},
    {Shape::kPid, offsetof(pmix_proc_stats_t, pid)},
    {Shape::kString, offsetof(pmix_proc_stats_t, cmd)},
    {Shape::kByte, offsetof(pmix_proc_stats_t, state)},
    {Shape::kTimeval, offsetof(pmix_proc_stats_t, time)},
    {Shape::kFloat, offsetof(pmix_proc_stats_t, percent_cpu), 0, PMIX_UNDEF,
     CountForm::kSize, false},
    {Shape::kInt32, offsetof(pmix_proc_stats_t, priority)},
    {Shape::kInt16, offsetof(pmix_proc_stats_t, num_threads)},
    {Shape::kFloat, offsetof(pmix_proc_stats_t, pss)},
    {Shape::kFloat, offsetof(pmix_proc_stats_t, vsize)},
    {Shape::kFloat, offsetof(pmix_proc_stats_t, rss)},
    {Shape::kFloat, offsetof(pmix_proc_stats_t, peak_vsize), 0, PMIX_UNDEF,
     CountForm::kSize, false},
    {Shape::kInt16, offsetof(pmix_proc_stats_t, processor)},
    {Shape::kTimeval, offsetof(pmix_proc_stats_t, sample_time)},
};

constexpr Field kDiskStats[] = {
    {Shape::kString, offsetof(pmix_disk_stats_t, disk)},
    {Shape::kUint64, offsetof(pmix_disk_stats_t, num_reads_completed)},
    {Shape::kUint64, offsetof(pmix_disk_stats_t, num_reads_merged)},
    {Shape::kUint64, offsetof(pmix_disk_stats_t, num_sectors_read)},
    {Shape::kUint64, offsetof(pmix_disk_stats_t, milliseconds_reading)},
    {Shape::kUint64, offsetof(pmix_disk_stats_t, num_writes_completed)},
    {Shape::kUint64, offsetof(pmix_disk_stats_t, num_writes_merged)},
    {Shape::kUint64, offsetof(pmix_disk_stats_t, num_sectors_written)},
    {Shape::kUint64, offsetof(pmix_disk_stats_t, milliseconds_writing)},
    {Shape::kUint64, offsetof(pmix_disk_stats_t, num_ios_in_progress)},
    {Shape::kUint64, offsetof(pmix_disk_stats_t, milliseconds_io)},
    {Shape::kUint64, offsetof(pmix_disk_stats_t, weighted_milliseconds_io)},
};

constexpr Field kNetStats[] = {
    {Shape::kString, offsetof(pmix_net_stats_t, net_interface)},
    {Shape::kUint64, offsetof(pmix_net_stats_t, num_bytes_recvd)},
    {Shape::kUint64, offsetof(pmix_net_stats_t, num_packets_recvd)},
    {Shape::kUint64, offsetof(pmix_net_stats_t, num_recv_errs)},
    {Shape::kUint64, offsetof(pmix_net_stats_t, num_bytes_sent)},
    {Shape::kUint64, offsetof(pmix_net_stats_t, num_packets_sent)},
    {Shape::kUint64, offsetof(pmix_net_stats_t, num_send_errs)},
};

constexpr Field kNodeStats[] = {
    {Shape::kString, offsetof(pmix_node_stats_t, node)},
    {Shape::kFloat, offsetof(pmix_node_stats_t, la)},
    {Shape::kFloat, offsetof(pmix_node_stats_t, la5)},
    {Shape::kFloat, offsetof(pmix_node_stats_t, la15)},
    {Shape::kFloat, offsetof(pmix_node_stats_t, total_mem)},
    {Shape::kFloat, offsetof(pmix_node_stats_t, free_mem)},
    {Shape::kFloat, offsetof(pmix_node_stats_t, buffers)},
    {Shape::kFloat, offsetof(pmix_node_stats_t, cached)},
    {Shape::kFloat, offsetof(pmix_node_stats_t, swap_cached)},
    {Shape::kFloat, offsetof(pmix_node_stats_t, swap_total)},
    {Shape::kFloat, offsetof(pmix_node_stats_t, swap_free)},
    {Shape::kFloat, offsetof(pmix_node_stats_t, mapped)},
    {Shape::kTimeval, offsetof(pmix_node_stats_t, sample_time)},
    {Shape::kList, offsetof(pmix_node_stats_t, diskstats),
     offsetof(pmix_node_stats_t, ndiskstats), PMIX_DISK_STATS},
    {Shape::kList, offsetof(pmix_node_stats_t, netstats),
     offsetof(pmix_node_stats_t, nnetstats), PMIX_NET_STATS},
};

template <typename T, size_t N>
constexpr TypeInfo Inline(const char* name, const Field (&fields)[N]) {
  return {name, sizeof(T), false, N, fields, MinWireBytes(fields)};
}

template <typename T, size_t N>
constexpr TypeInfo Indirect(const char* name, const Field (&fields)[N]) {
  return {name, sizeof(T), true, N, fields, MinWireBytes(fields)};
}

constexpr TypeInfo kNone = {nullptr, 0, false, 0, nullptr, 0};

// Indexed by data type.
constexpr TypeInfo kTypes[kNumTypes] = {
    {"PMIX_UNDEF", 0, false, 0, nullptr, 0},
    Inline<bool>("PMIX_BOOL", kBool),
    Inline<uint8_t>("PMIX_BYTE", kByte),
    Inline<char*>("PMIX_STRING", kString),
    Inline<size_t>("PMIX_SIZE", kSize),
    Inline<pid_t>("PMIX_PID", kPid),
    Inline<int>("PMIX_INT", kInt),
    Inline<int8_t>("PMIX_INT8", kInt8),
    Inline<int16_t>("PMIX_INT16", kInt16),
    Inline<int32_t>("PMIX_INT32", kInt32),
    Inline<int64_t>("PMIX_INT64", kInt64),
    Inline<unsigned>("PMIX_UINT", kUint),
    Inline<uint8_t>("PMIX_UINT8", kByte),
    Inline<uint16_t>("PMIX_UINT16", kUint16),
    Inline<uint32_t>("PMIX_UINT32", kUint32),
    Inline<uint64_t>("PMIX_UINT64", kUint64),
    Inline<float>("PMIX_FLOAT", kFloat),
    Inline<double>("PMIX_DOUBLE", kDouble),
    Inline<timeval>("PMIX_TIMEVAL", kTimeval),
    Inline<time_t>("PMIX_TIME", kTime),
    Inline<pmix_status_t>("PMIX_STATUS", kInt32),
    Indirect<pmix_value_t>("PMIX_VALUE", kValue),
    Indirect<pmix_proc_t>("PMIX_PROC", kProc),
    Indirect<pmix_app_t>("PMIX_APP", kApp),
    Indirect<pmix_info_t>("PMIX_INFO", kInfo),
    Indirect<pmix_pdata_t>("PMIX_PDATA", kPdata),
    kNone,  // 26, a nested payload: only the codec uses it
    Inline<pmix_byte_object_t>("PMIX_BYTE_OBJECT", kBytes),
    kNone,  // 28, a key with its value: only the codec uses it
    kNone,
    Inline<pmix_persistence_t>("PMIX_PERSIST", kByte),
    Inline<void*>("PMIX_POINTER", kPointer),
    Inline<pmix_scope_t>("PMIX_SCOPE", kByte),
    Inline<pmix_data_range_t>("PMIX_DATA_RANGE", kByte),
    Inline<uint8_t>("PMIX_COMMAND", kByte),
    Inline<pmix_info_directives_t>("PMIX_INFO_DIRECTIVES", kUint32),
    Inline<pmix_data_type_t>("PMIX_DATA_TYPE", kUint16),
    Inline<pmix_proc_state_t>("PMIX_PROC_STATE", kByte),
    Indirect<pmix_proc_info_t>("PMIX_PROC_INFO", kProcInfo),
    Indirect<pmix_data_array_t>("PMIX_DATA_ARRAY", kDataArray),
    Inline<pmix_rank_t>("PMIX_PROC_RANK", kUint32),
    Indirect<pmix_query_t>("PMIX_QUERY", kQuery),
    Inline<pmix_byte_object_t>("PMIX_COMPRESSED_STRING", kBytes),
    Inline<pmix_alloc_directive_t>("PMIX_ALLOC_DIRECTIVE", kByte),
    kNone,
    Inline<pmix_iof_channel_t>("PMIX_IOF_CHANNEL", kUint16),
    Inline<pmix_envar_t>("PMIX_ENVAR", kEnvar),
    Indirect<pmix_coord_t>("PMIX_COORD", kCoord),
    Indirect<pmix_regattr_t>("PMIX_REGATTR", kRegattr),
    Inline<pmix_byte_object_t>("PMIX_REGEX", kRegex),
    Inline<pmix_job_state_t>("PMIX_JOB_STATE", kByte),
    Inline<pmix_link_state_t>("PMIX_LINK_STATE", kByte),
    Indirect<pmix_cpuset_t>("PMIX_PROC_CPUSET", kCpuset),
    Indirect<pmix_geometry_t>("PMIX_GEOMETRY", kGeometry),
    Indirect<pmix_device_distance_t>("PMIX_DEVICE_DIST", kDeviceDistance),
    Indirect<pmix_endpoint_t>("PMIX_ENDPOINT", kEndpoint),
    Indirect<pmix_topology_t>("PMIX_TOPO", kTopology),
    Inline<pmix_device_type_t>("PMIX_DEVTYPE", kUint64),
    Inline<pmix_locality_t>("PMIX_LOCTYPE", kUint16),
    Inline<pmix_byte_object_t>("PMIX_COMPRESSED_BYTE_OBJECT", kBytes),
    Indirect<pmix_nspace_t>("PMIX_PROC_NSPACE", kNspace),
    Indirect<pmix_proc_stats_t>("PMIX_PROC_STATS", kProcStats),
    Indirect<pmix_disk_stats_t>("PMIX_DISK_STATS", kDiskStats),
    Indirect<pmix_net_stats_t>("PMIX_NET_STATS", kNetStats),
    Indirect<pmix_node_stats_t>("PMIX_NODE_STATS", kNodeStats),
    Indirect<pmix_data_buffer_t>("PMIX_DATA_BUFFER", kBuffer),
    Inline<pmix_storage_medium_t>("PMIX_STOR_MEDIUM", kUint64),
    Inline<pmix_storage_accessibility_t>("PMIX_STOR_ACCESS", kUint64),
    Inline<pmix_storage_persistence_t>("PMIX_STOR_PERSIST", kUint64),
    Inline<pmix_storage_access_type_t>("PMIX_STOR_ACCESS_TYPE", kUint16),
    Indirect<pmix_device_t>("PMIX_DEVICE", kDevice),
    Inline<pmix_resource_block_directive_t>("PMIX_RESBLOCK_DIRECTIVE", kByte),
    Indirect<pmix_resource_unit_t>("PMIX_RESOURCE_UNIT", kResourceUnit),
    Indirect<pmix_node_pid_t>("PMIX_NODE_PID", kNodePid),
    Indirect<pmix_regex2_t>("PMIX_REGEX2", kRegex2),
    Inline<pmix_alloc_inheritance_t>("PMIX_ALLOC_INHERIT", kByte),
};

bool IsFlat(Shape shape) {
  switch (shape) {
    case Shape::kString:
    case Shape::kStrings:
    case Shape::kBytes:
    case Shape::kRegex:
    case Shape::kBuffer:
    case Shape::kValue:
    case Shape::kDataArray:
    case Shape::kList:
    case Shape::kCpuset:
    case Shape::kTopology:
      return false;
    default:
      return true;
  }
}

}  // namespace

const TypeInfo* FindType(pmix_data_type_t type) {
  if (type >= kNumTypes || kTypes[type].name == nullptr) return nullptr;
  return &kTypes[type];
}

bool IsFlat(const TypeInfo& type) {
  for (const Field& field : type) {
    if (field.shape == Shape::kStruct ? !IsFlat(kTypes[field.element])
                                      : !IsFlat(field.shape)) {
      return false;
    }
  }
  return true;
}

}  // namespace canopy
