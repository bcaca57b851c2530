/* Calls every function of the client API that the library completes by itself.
 */
#include "check.h"

static void strings(void) {
  pmix_info_t info;
  pmix_value_t value;
  uint32_t number = 5;
  TRUE_(PMIx_Proc_state_string(PMIX_PROC_STATE_RUNNING) != NULL);
  TRUE_(PMIx_Scope_string(PMIX_GLOBAL) != NULL);
  TRUE_(PMIx_Persistence_string(PMIX_PERSIST_APP) != NULL);
  TRUE_(PMIx_Data_range_string(PMIX_RANGE_LOCAL) != NULL);
  TRUE_(PMIx_Data_type_string(PMIX_PROC) != NULL);
  TRUE_(PMIx_Alloc_directive_string(PMIX_ALLOC_NEW) != NULL);
  TRUE_(PMIx_IOF_channel_string(PMIX_FWD_STDOUT_CHANNEL) != NULL);
  TRUE_(PMIx_Job_state_string(PMIX_JOB_STATE_RUNNING) != NULL);
  TRUE_(PMIx_Link_state_string(PMIX_LINK_UP) != NULL);
  TRUE_(PMIx_Device_type_string(PMIX_DEVTYPE_NETWORK) != NULL);
  TRUE_(PMIx_Value_comparison_string(PMIX_EQUAL) != NULL);
  EXPECT(0, strcmp(PMIx_Get_attribute_string("PMIX_JOB_SIZE"), PMIX_JOB_SIZE));
  EXPECT(0, strcmp(PMIx_Get_attribute_name(PMIX_JOB_SIZE), "PMIX_JOB_SIZE"));
  PMIX_INFO_LOAD(&info, "k", &number, PMIX_UINT32);
  PMIX_VALUE_LOAD(&value, &number, PMIX_UINT32);
  free(PMIx_Info_string(&info));
  free(PMIx_Value_string(&value));
  free(PMIx_Info_directives_string(PMIX_INFO_REQD));
}

static void values(void) {
  pmix_value_t value;
  pmix_value_t copy;
  uint32_t space = 0;
  void *unloaded = &space; /* scalars are copied here */
  size_t size = 0;
  uint32_t number = 77;
  pmix_data_array_t *array;
  OK(PMIx_Value_load(&value, &number, PMIX_UINT32));
  OK(PMIx_Value_xfer(&copy, &value));
  EXPECT(PMIX_EQUAL, PMIx_Value_compare(&value, &copy));
  OK(PMIx_Value_unload(&copy, &unloaded, &size));
  EXPECT(77, *(uint32_t *) unloaded);
  PMIx_Value_destruct(&value);
  PMIX_DATA_ARRAY_CREATE(array, 2, PMIX_UINT32);
  PMIx_Data_array_destruct(array);
}

static void infos(void) {
  pmix_info_t one;
  pmix_info_t two;
  pmix_data_array_t array;
  uint32_t number = 3;
  void *list = PMIx_Info_list_start();
  OK(PMIx_Info_load(&one, "one", &number, PMIX_UINT32));
  OK(PMIx_Info_xfer(&two, &one));
  OK(PMIx_Info_list_add(list, "two", &number, PMIX_UINT32));
  OK(PMIx_Info_list_insert(list, &one));
  OK(PMIx_Info_list_xfer(list, &two));
  OK(PMIx_Info_list_convert(list, &array));
  EXPECT(3, array.size);
  PMIx_Info_list_release(list);
}

static void buffers(void) {
  pmix_data_buffer_t from;
  pmix_data_buffer_t to;
  pmix_byte_object_t bytes;
  uint32_t number = 11;
  uint32_t *copied = NULL;
  int32_t count = 1;
  char *text = NULL;
  PMIX_DATA_BUFFER_CONSTRUCT(&from);
  PMIX_DATA_BUFFER_CONSTRUCT(&to);
  OK(PMIx_Data_pack(&me, &from, &number, 1, PMIX_UINT32));
  OK(PMIx_Data_copy_payload(&to, &from));
  number = 0;
  OK(PMIx_Data_unpack(&me, &to, &number, &count, PMIX_UINT32));
  EXPECT(11, number);
  OK(PMIx_Data_unload(&from, &bytes));
  OK(PMIx_Data_embed(&to, &bytes));
  OK(PMIx_Data_load(&from, &bytes));
  OK(PMIx_Data_copy((void **) &copied, &number, PMIX_UINT32));
  EXPECT(11, *copied);
  OK(PMIx_Data_print(&text, NULL, &number, PMIX_UINT32));
  free(text);
}

/* A library without a compressor returns false. */
static void compression(void) {
  static uint8_t zeros[100000];
  uint8_t *small = NULL;
  uint8_t *again = NULL;
  size_t size = 0;
  if (!PMIx_Data_compress(zeros, sizeof zeros, &small, &size)) return;
  TRUE_(PMIx_Data_decompress(small, size, &again, &size));
  EXPECT(sizeof zeros, size);
}

static void on_distances(pmix_status_t status, pmix_device_distance_t *dist,
                         size_t ndist, void *data, pmix_release_cbfunc_t done,
                         void *done_data) {
  (void) dist;
  (void) ndist;
  if (done != NULL) done(done_data);
  wake((waiter_t *) data, status);
}

/* The results depend on the machine. */
static void topology(void) {
  pmix_topology_t topo;
  pmix_cpuset_t cpuset;
  pmix_cpuset_t parsed;
  pmix_device_distance_t *distances = NULL;
  pmix_locality_t locality = 0;
  size_t count = 0;
  waiter_t waiter = WAITER_INIT;
  PMIX_TOPOLOGY_CONSTRUCT(&topo);
  PMIX_CPUSET_CONSTRUCT(&cpuset);
  PMIX_CPUSET_CONSTRUCT(&parsed);
  OK(PMIx_Load_topology(&topo));
  OK(PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS));
  char set[] = "hwloc:0"; /* some releases write into it */
  OK(PMIx_Parse_cpuset_string(set, &parsed));
  pmix_status_t rc = PMIx_Compute_distances(&topo, &cpuset, NULL, 0, &distances,
                                            &count);
  TRUE_(rc == PMIX_SUCCESS || rc == PMIX_ERR_NOT_SUPPORTED ||
        rc == PMIX_ERR_NOT_FOUND);
  if (PMIx_Compute_distances_nb(&topo, &cpuset, NULL, 0, on_distances,
                                &waiter) == PMIX_SUCCESS) {
    (void) wait_for(&waiter, 1);
  }
  /* The releases of OpenPMIx accept different forms of localities. */
  (void) PMIx_Get_relative_locality("hwloc:NM0:CR0:HT0", "hwloc:NM0:CR0:HT0",
                                    &locality);
  PMIx_Cpuset_destruct(&cpuset);
  PMIx_Topology_destruct(&topo);
}

int main(int argc, char **argv) {
  begin(argc, argv);
  strings();
  values();
  infos();
  buffers();
  compression();
  topology();
  PMIx_Progress();
  fence(0);
  return end("helpers");
}
