// Fabrics and their devices: the rules of part FAB. PROGRAM SIZE NODES
// [devices]: "devices" if hwloc reads devices.xml; otherwise the machine's own
// devices are used.
#include "check.h"
#include "nonblocking.h"

static const pmix_info_t *Find(const pmix_info_t *infos, size_t count,
                               const char *key) {
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(infos[i].key, key) == 0) return &infos[i];
  }
  return NULL;
}

static const char *TextOf(const pmix_info_t *infos, size_t count,
                          const char *key) {
  const pmix_info_t *info = Find(infos, count, key);
  CHECK(info != NULL && info->value.type == PMIX_STRING, "no text %s", key);
  return info->value.data.string;
}

// FAB-07: each device has an array, which begins with the device's ID.
static void Devices(const pmix_data_array_t *array, size_t count) {
  CHECK(array->type == PMIX_INFO, "an array of %s",
        PMIx_Data_type_string(array->type));
  CHECK(array->size == count, "%zu devices, not %zu", array->size, count);
  const pmix_info_t *devices = array->array;
  for (size_t i = 0; i < count; ++i) {
    CHECK(strcmp(devices[i].key, PMIX_FABRIC_DEVICE) == 0, "%s",
          devices[i].key);
    const pmix_data_array_t *device = devices[i].value.data.darray;
    const pmix_info_t *infos = device->array;
    CHECK(strcmp(infos[0].key, PMIX_DEVICE_ID) == 0, "%s first", infos[0].key);
    TextOf(infos, device->size, PMIX_HOSTNAME);
    TextOf(infos, device->size, PMIX_FABRIC_DEVICE_NAME);
    TextOf(infos, device->size, PMIX_FABRIC_DEVICE_VENDOR);
  }
}

// FAB-01, FAB-03: a fabric has the required data, and still the user's name.
static void Data(const pmix_fabric_t *fabric, const char *name) {
  CHECK(fabric->name == name, "the name is %s", fabric->name);
  TextOf(fabric->info, fabric->ninfo, PMIX_FABRIC_VENDOR);
  TextOf(fabric->info, fabric->ninfo, PMIX_FABRIC_IDENTIFIER);
  const pmix_info_t *count =
      Find(fabric->info, fabric->ninfo, PMIX_FABRIC_NUM_DEVICES);
  CHECK(count != NULL && count->value.type == PMIX_SIZE, "no number");
  const pmix_info_t *devices =
      Find(fabric->info, fabric->ninfo, PMIX_FABRIC_DEVICES);
  CHECK(devices != NULL, "no devices");
  Devices(devices->value.data.darray, count->value.data.size);
}

// FAB-05, FAB-06: deregistration and calls after it.
static void Ends(pmix_fabric_t *fabric) {
  OK(PMIx_Fabric_deregister(fabric));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fabric_update(fabric));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fabric_deregister(fabric));
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Fabric_update_nb, fabric, OnOperation);
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Fabric_deregister_nb, fabric, OnOperation);
}

static void Life(void) {
  char name[] = "of the user";
  pmix_fabric_t fabric;
  PMIX_FABRIC_CONSTRUCT(&fabric);
  fabric.name = name;
  OK(PMIx_Fabric_register(&fabric, NULL, 0));
  Data(&fabric, name);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fabric_register(&fabric, NULL, 0));
  OK(PMIx_Fabric_update(&fabric));
  Data(&fabric, name);
  ANSWERS(PMIX_SUCCESS, PMIx_Fabric_update_nb, &fabric, OnOperation);
  Data(&fabric, name);
  Ends(&fabric);
  ANSWERS(PMIX_SUCCESS, PMIx_Fabric_register_nb, &fabric, NULL, 0, OnOperation);
  Data(&fabric, name);
  ANSWERS(PMIX_SUCCESS, PMIx_Fabric_deregister_nb, &fabric, OnOperation);
}

// FAB-02: directives choose the fabric.
static void Chosen(const char *key, const char *value, const char *device) {
  Directives with = {.count = 0};
  AddText(&with, key, value);
  with.info[0].flags = PMIX_INFO_REQD;
  pmix_fabric_t fabric;
  PMIX_FABRIC_CONSTRUCT(&fabric);
  if (device == NULL) {
    EXPECT(PMIX_ERR_NOT_FOUND,
           PMIx_Fabric_register(&fabric, with.info, with.count));
    ANSWERS(PMIX_ERR_NOT_FOUND, PMIx_Fabric_register_nb, &fabric, with.info,
            with.count, OnOperation);
    return;
  }
  OK(PMIx_Fabric_register(&fabric, with.info, with.count));
  const pmix_info_t *devices =
      Find(fabric.info, fabric.ninfo, PMIX_FABRIC_DEVICES);
  const pmix_info_t *first = devices->value.data.darray->array;
  const pmix_data_array_t *infos = first->value.data.darray;
  const char *name = TextOf(infos->array, infos->size, PMIX_FABRIC_DEVICE_NAME);
  CHECK(strcmp(name, device) == 0, "%s is %s: of %s", key, value, name);
  OK(PMIx_Fabric_deregister(&fabric));
}

static void Choices(void) {
  Chosen(PMIX_FABRIC_IDENTIFIER, "network", "eno1");
  Chosen(PMIX_FABRIC_IDENTIFIER, "openfabrics", "mlx5_0");
  Chosen(PMIX_FABRIC_VENDOR, "Intel Corporation", "eno1");
  Chosen(PMIX_FABRIC_PLANE, "fe80:0000:0000:0002", "mlx5_1");
  Chosen(PMIX_FABRIC_PLANE, "no such plane", NULL);
}

static void Wrong(void) {
  pmix_fabric_t fabric;
  PMIX_FABRIC_CONSTRUCT(&fabric);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fabric_register(NULL, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fabric_register(&fabric, NULL, 1));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fabric_update(NULL));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fabric_deregister(&fabric));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fabric_update_nb(&fabric, NULL, NULL));
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Fabric_register_nb, NULL, NULL, 0,
          OnOperation);
  Directives unknown = Flag("no.such.directive");
  unknown.info[0].flags = PMIX_INFO_REQD;
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_Fabric_register(&fabric, unknown.info, unknown.count));
  ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Fabric_register_nb, &fabric,
          unknown.info, unknown.count, OnOperation);
}

// FAB-07: PMIx_Get by the ID, and by the name and the host.
static void Got(void) {
  pmix_value_t *all =
      MustGet(&g_job, PMIX_FABRIC_DEVICES, NULL, PMIX_DATA_ARRAY);
  Devices(all->data.darray, 3);
  PMIX_VALUE_RELEASE(all);
  char *host = MustGetText(&g_self, PMIX_HOSTNAME, NULL);
  Directives named = {.count = 0};
  AddText(&named, PMIX_FABRIC_DEVICE_NAME, "eno1");
  AddText(&named, PMIX_HOSTNAME, host);
  pmix_value_t *one =
      MustGet(&g_job, PMIX_FABRIC_DEVICE, &named, PMIX_DATA_ARRAY);
  const pmix_data_array_t *array = one->data.darray;
  Directives of_id = {.count = 0};
  AddText(&of_id, PMIX_DEVICE_ID,
          TextOf(array->array, array->size, PMIX_DEVICE_ID));
  pmix_value_t *same =
      MustGet(&g_job, PMIX_FABRIC_DEVICE, &of_id, PMIX_DATA_ARRAY);
  CHECK(strcmp(TextOf(same->data.darray->array, same->data.darray->size,
                      PMIX_FABRIC_DEVICE_ADDRESS),
               "3c:fd:fe:00:00:01") == 0,
        "another device");
  PMIX_VALUE_RELEASE(same);
  PMIX_VALUE_RELEASE(one);
  Directives elsewhere = Flag(PMIX_OPTIONAL);
  AddText(&elsewhere, PMIX_HOSTNAME, "no-such-host");
  MustFail(PMIX_ERR_NOT_FOUND, &g_job, PMIX_FABRIC_DEVICES, &elsewhere);
  free(host);
}

// FAB-12: distances by PMIx_Compute_distances and by PMIx_Get.
static void Distances(void) {
  Directives kind = {.count = 0};
  pmix_info_t *type = NextInfo(&kind, PMIX_DEVICE_TYPE);
  type->value.type = PMIX_DEVTYPE;
  type->value.data.devtype = PMIX_DEVTYPE_OPENFABRICS;
  pmix_device_distance_t *distances = NULL;
  size_t count = 0;
  OK(PMIx_Compute_distances(NULL, NULL, kind.info, kind.count, &distances,
                            &count));
  CHECK(count == 2, "%zu devices of OpenFabrics", count);
  PMIX_DEVICE_DIST_FREE(distances, count);
  Directives one = {.count = 0};
  AddText(&one, PMIX_DEVICE_ID, "eno1");
  OK(PMIx_Compute_distances(NULL, NULL, one.info, one.count, &distances,
                            &count));
  CHECK(count == 1 && distances[0].type == PMIX_DEVTYPE_NETWORK, "%zu", count);
  PMIX_DEVICE_DIST_FREE(distances, count);
  pmix_value_t *all =
      MustGet(&g_self, PMIX_DEVICE_DISTANCES, NULL, PMIX_DATA_ARRAY);
  CHECK(all->data.darray->type == PMIX_DEVICE_DIST, "an array of %s",
        PMIx_Data_type_string(all->data.darray->type));
  CHECK(all->data.darray->size == 3, "%zu distances", all->data.darray->size);
  PMIX_VALUE_RELEASE(all);
}

// Without devices.xml, the machine's own devices are used. It may have none;
// devices that it has are reported like those of devices.xml.
static void Here(void) {
  pmix_fabric_t fabric;
  PMIX_FABRIC_CONSTRUCT(&fabric);
  const pmix_status_t status = PMIx_Fabric_register(&fabric, NULL, 0);
  const Directives optional = Flag(PMIX_OPTIONAL);
  if (status == PMIX_ERR_NOT_FOUND) {
    MustFail(PMIX_ERR_NOT_FOUND, &g_job, PMIX_FABRIC_DEVICES, &optional);
    return;
  }
  EXPECT(PMIX_SUCCESS, status);
  Data(&fabric, NULL);
  OK(PMIx_Fabric_deregister(&fabric));
}

int main(int argc, char **argv) {
  Start(argc, argv);
  Wrong();
  if (argc > 3) {
    Life();
    Choices();
    Got();
    Distances();
  } else {
    Here();
  }
  CallsAnsweredOnce();
  Barrier();
  return Finish();
}
