#ifndef CANOPY_TESTS_ABI_MACRO_DATA_H_
#define CANOPY_TESTS_ABI_MACRO_DATA_H_

/* Checks of the macros for bytes, arrays and the data of machines. */

#include <stdlib.h>
#include <string.h>

#include "tests/abi/macro_expect.h"

static void check_bytes(void) {
  pmix_byte_object_t object = PMIX_BYTE_OBJECT_STATIC_INIT;
  pmix_data_buffer_t *buffer;
  pmix_data_buffer_t local;
  char *bytes = canopy_copy_text("1234");
  size_t size = 4;
  PMIX_BYTE_OBJECT_LOAD(&object, bytes, size);
  EXPECT(NULL == bytes && 0 == size && 4 == object.size);
  PMIX_BYTE_OBJECT_DESTRUCT(&object);
  EXPECT(NULL == object.bytes && 0 == object.size);
  memset(&local, 0x5a, sizeof(local));
  PMIX_DATA_BUFFER_CONSTRUCT(&local);
  EXPECT(all_zero(&local, sizeof(local)));
  PMIX_DATA_BUFFER_DESTRUCT(&local);
  PMIX_DATA_BUFFER_CREATE(buffer);
  EXPECT(NULL != buffer && all_zero(buffer, sizeof(*buffer)));
  bytes = canopy_copy_text("5678");
  PMIX_DATA_BUFFER_LOAD(buffer, bytes, 4);
  bytes = NULL;
  PMIX_DATA_BUFFER_UNLOAD(buffer, bytes, size);
  EXPECT(4 == size && NULL != bytes && 0 == memcmp(bytes, "5678", 4));
  free(bytes);
  PMIX_DATA_BUFFER_RELEASE(buffer);
  EXPECT(NULL == buffer);
}

static void check_data_arrays(void) {
  pmix_data_array_t array;
  pmix_data_array_t *heap;
  memset(&array, 0x5a, sizeof(array));
  PMIX_DATA_ARRAY_INIT(&array, PMIX_PROC);
  EXPECT(PMIX_PROC == array.type && 0 == array.size && NULL == array.array);
  PMIX_DATA_ARRAY_CONSTRUCT(&array, 2, PMIX_INFO);
  EXPECT(2 == array.size && NULL != array.array);
  EXPECT(PMIX_INFO_IS_END(&((pmix_info_t *) array.array)[1]));
  PMIX_DATA_ARRAY_DESTRUCT(&array);
  PMIX_DATA_ARRAY_CONSTRUCT(&array, 2, PMIX_DEVICE_DIST);
  EXPECT(UINT16_MAX == ((pmix_device_distance_t *) array.array)[1].mindist);
  PMIX_DATA_ARRAY_DESTRUCT(&array);
  PMIX_DATA_ARRAY_CONSTRUCT(&array, 2, PMIX_KVAL);
  EXPECT(0 == array.size && NULL == array.array);
  PMIX_DATA_ARRAY_CREATE(heap, 3, PMIX_UINT32);
  EXPECT(NULL != heap && 3 == heap->size && PMIX_UINT32 == heap->type);
  PMIX_DATA_ARRAY_FREE(heap);
  EXPECT(NULL == heap);
  PMIX_DATA_ARRAY_CREATE(heap, 0, PMIX_UINT32);
  EXPECT(NULL != heap && NULL == heap->array);
  PMIX_DATA_ARRAY_RELEASE(heap);
  EXPECT(NULL == heap);
}

static void check_devices(void) {
  pmix_envar_t envar = PMIX_ENVAR_STATIC_INIT;
  pmix_coord_t *coords;
  pmix_coord_t coord;
  pmix_device_distance_t *distances;
  pmix_device_distance_t distance;
  pmix_fabric_t fabric;
  PMIX_ENVAR_LOAD(&envar, "PATH", "/bin", ':');
  EXPECT(0 == strcmp(envar.envar, "PATH") && ':' == envar.separator);
  PMIX_ENVAR_DESTRUCT(&envar);
  EXPECT(NULL == envar.envar && NULL == envar.value);
  PMIX_COORD_CREATE(coords, 2, 3);
  EXPECT(NULL != coords && 3 == coords[1].dims && 0 == coords[1].coord[2]);
  PMIX_COORD_FREE(coords, 2);
  EXPECT(NULL == coords);
  memset(&coord, 0x5a, sizeof(coord));
  PMIX_COORD_CONSTRUCT(&coord);
  EXPECT(all_zero(&coord, sizeof(coord)));
  PMIX_COORD_DESTRUCT(&coord);
  PMIX_DEVICE_DIST_CONSTRUCT(&distance);
  EXPECT(UINT16_MAX == distance.mindist && NULL == distance.uuid);
  PMIX_DEVICE_DIST_DESTRUCT(&distance);
  PMIX_DEVICE_DIST_CREATE(distances, 2);
  EXPECT(NULL != distances && UINT16_MAX == distances[1].maxdist);
  PMIX_DEVICE_DIST_FREE(distances, 2);
  EXPECT(NULL == distances);
  memset(&fabric, 0x5a, sizeof(fabric));
  PMIX_FABRIC_CONSTRUCT(&fabric);
  EXPECT(all_zero(&fabric, sizeof(fabric)));
}

static void check_records(void) {
  pmix_regattr_t a;
  pmix_regattr_t b;
  pmix_node_stats_t stats;
  PMIX_REGATTR_CONSTRUCT(&a);
  PMIX_REGATTR_LOAD(&a, "PMIX_RANK", PMIX_RANK, PMIX_PROC_RANK, "the rank");
  PMIX_REGATTR_XFER(&b, &a);
  PMIX_REGATTR_DESTRUCT(&a);
  EXPECT(0 == strcmp(b.name, "PMIX_RANK") && 0 == strcmp(b.string, PMIX_RANK));
  EXPECT(PMIX_PROC_RANK == b.type && 0 == strcmp(b.description[0], "the rank"));
  PMIX_REGATTR_DESTRUCT(&b);
  PMIX_NODE_STATS_CONSTRUCT(&stats);
  stats.node = canopy_copy_text("node");
  PMIX_DISK_STATS_CREATE(stats.diskstats, 1);
  stats.ndiskstats = 1;
  stats.diskstats->disk = canopy_copy_text("sda");
  PMIX_NODE_STATS_RELEASE(&stats);
  EXPECT(all_zero(&stats, sizeof(stats)));
}

#endif /* CANOPY_TESTS_ABI_MACRO_DATA_H_ */
