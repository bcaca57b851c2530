// Renders values of any PMIx type as text, so that programs can compare the
// result of a get with the original, and print the difference.
#ifndef CANOPY_TESTS_CONFORMANCE_SHOW_H_
#define CANOPY_TESTS_CONFORMANCE_SHOW_H_

#include "check.h"

static void ShowOne(FILE *out, pmix_data_type_t type, const void *at);

static void ShowBytes(FILE *out, const pmix_byte_object_t *bytes) {
  fprintf(out, "%zu:", bytes->size);
  for (size_t i = 0; i < bytes->size; ++i) {
    fprintf(out, "%02x", (unsigned char)bytes->bytes[i]);
  }
}

static void ShowArray(FILE *out, const pmix_data_array_t *array) {
  fprintf(out, "[%zu x %d:", array->size, array->type);
  for (size_t i = 0; i < array->size; ++i) {
    size_t size = 0;
    switch (array->type) {
      case PMIX_BOOL:
        size = sizeof(bool);
        break;
      case PMIX_BYTE:
      case PMIX_INT8:
      case PMIX_UINT8:
      case PMIX_PROC_STATE:
        size = 1;
        break;
      case PMIX_INT16:
      case PMIX_UINT16:
        size = 2;
        break;
      case PMIX_INT:
      case PMIX_INT32:
      case PMIX_UINT:
      case PMIX_UINT32:
      case PMIX_PROC_RANK:
      case PMIX_STATUS:
      case PMIX_FLOAT:
      case PMIX_PID:
        size = 4;
        break;
      case PMIX_INT64:
      case PMIX_UINT64:
      case PMIX_SIZE:
      case PMIX_DOUBLE:
      case PMIX_TIME:
      case PMIX_STRING:
        size = 8;
        break;
      case PMIX_TIMEVAL:
        size = sizeof(struct timeval);
        break;
      case PMIX_PROC:
        size = sizeof(pmix_proc_t);
        break;
      case PMIX_PROC_INFO:
        size = sizeof(pmix_proc_info_t);
        break;
      case PMIX_INFO:
        size = sizeof(pmix_info_t);
        break;
      case PMIX_VALUE:
        size = sizeof(pmix_value_t);
        break;
      case PMIX_BYTE_OBJECT:
        size = sizeof(pmix_byte_object_t);
        break;
      case PMIX_ENVAR:
        size = sizeof(pmix_envar_t);
        break;
      case PMIX_REGATTR:
        size = sizeof(pmix_regattr_t);
        break;
      case PMIX_COORD:
        size = sizeof(pmix_coord_t);
        break;
      case PMIX_GEOMETRY:
        size = sizeof(pmix_geometry_t);
        break;
      case PMIX_DEVICE_DIST:
        size = sizeof(pmix_device_distance_t);
        break;
      case PMIX_ENDPOINT:
        size = sizeof(pmix_endpoint_t);
        break;
      case PMIX_DATA_ARRAY:
        size = sizeof(pmix_data_array_t);
        break;
      default:
        CHECK(false, "array of type %d", array->type);
    }
    fputc(' ', out);
    ShowOne(out, array->type, (const char *)array->array + i * size);
  }
  fputc(']', out);
}

static void ShowCoord(FILE *out, const pmix_coord_t *coord) {
  fprintf(out, "view %d:", coord->view);
  for (size_t i = 0; i < coord->dims; ++i) fprintf(out, " %u", coord->coord[i]);
}

static void ShowGeometry(FILE *out, const pmix_geometry_t *geometry) {
  fprintf(out, "(%zu %s %s", geometry->fabric, geometry->uuid,
          geometry->osname);
  for (size_t i = 0; i < geometry->ncoords; ++i) {
    fputc(' ', out);
    ShowCoord(out, &geometry->coordinates[i]);
  }
  fputc(')', out);
}

static void ShowRegattr(FILE *out, const pmix_regattr_t *attribute) {
  fprintf(out, "(%s %s %d", attribute->name, attribute->string,
          attribute->type);
  for (char **line = attribute->description; line && *line; ++line) {
    fprintf(out, " '%s'", *line);
  }
  fputc(')', out);
}

static void ShowProcInfo(FILE *out, const pmix_proc_info_t *info) {
  fprintf(out, "(%s.%u %s %s %d %d %d)", info->proc.nspace, info->proc.rank,
          info->hostname, info->executable_name, info->pid, info->exit_code,
          info->state);
}

static void ShowProcStats(FILE *out, const pmix_proc_stats_t *s) {
  fprintf(out, "(%s %s.%u %d %s %c %ld.%ld %.9g %d %u %.9g %.9g %.9g %.9g %u",
          s->node, s->proc.nspace, s->proc.rank, s->pid, s->cmd, s->state,
          (long)s->time.tv_sec, (long)s->time.tv_usec, s->percent_cpu,
          s->priority, s->num_threads, s->pss, s->vsize, s->rss, s->peak_vsize,
          s->processor);
  fprintf(out, " %ld.%ld)", (long)s->sample_time.tv_sec,
          (long)s->sample_time.tv_usec);
}

static void ShowValue(FILE *out, const pmix_value_t *value) {
  fprintf(out, "<%d ", value->type);
  switch (value->type) {
    // Types that a value holds by pointer.
    case PMIX_PROC_NSPACE:
    case PMIX_PROC:
    case PMIX_PROC_INFO:
    case PMIX_DATA_ARRAY:
    case PMIX_COORD:
    case PMIX_GEOMETRY:
    case PMIX_DEVICE_DIST:
    case PMIX_ENDPOINT:
    case PMIX_PROC_STATS:
      ShowOne(out, value->type, value->data.ptr);
      break;
    default:
      ShowOne(out, value->type, &value->data);
  }
  fputc('>', out);
}

static void ShowNumber(FILE *out, pmix_data_type_t type, const void *at) {
  switch (type) {
    case PMIX_BOOL:
      fprintf(out, "%d", *(const bool *)at);
      break;
    case PMIX_BYTE:
    case PMIX_UINT8:
    case PMIX_PERSIST:
    case PMIX_SCOPE:
    case PMIX_DATA_RANGE:
    case PMIX_PROC_STATE:
    case PMIX_ALLOC_DIRECTIVE:
    case PMIX_JOB_STATE:
    case PMIX_LINK_STATE:
      fprintf(out, "%u", *(const uint8_t *)at);
      break;
    case PMIX_INT8:
      fprintf(out, "%d", *(const int8_t *)at);
      break;
    case PMIX_INT16:
      fprintf(out, "%d", *(const int16_t *)at);
      break;
    case PMIX_UINT16:
    case PMIX_LOCTYPE:
      fprintf(out, "%u", *(const uint16_t *)at);
      break;
    case PMIX_INT:
    case PMIX_INT32:
    case PMIX_STATUS:
    case PMIX_PID:
      fprintf(out, "%d", *(const int32_t *)at);
      break;
    case PMIX_UINT:
    case PMIX_UINT32:
    case PMIX_PROC_RANK:
      fprintf(out, "%u", *(const uint32_t *)at);
      break;
    case PMIX_INT64:
    case PMIX_TIME:
      fprintf(out, "%lld", (long long)*(const int64_t *)at);
      break;
    case PMIX_UINT64:
    case PMIX_SIZE:
    case PMIX_DEVTYPE:
    case PMIX_STOR_MEDIUM:
    case PMIX_STOR_ACCESS:
    case PMIX_STOR_PERSIST:
      fprintf(out, "%llu", (unsigned long long)*(const uint64_t *)at);
      break;
    case PMIX_STOR_ACCESS_TYPE:
      fprintf(out, "%u", *(const uint16_t *)at);
      break;
    case PMIX_FLOAT:  // hexadecimal, without loss
      fprintf(out, "%a", (double)*(const float *)at);
      break;
    case PMIX_DOUBLE:
      fprintf(out, "%a", *(const double *)at);
      break;
    default:
      CHECK(false, "a value of type %s (%d)", PMIx_Data_type_string(type),
            type);
  }
}

static void ShowOne(FILE *out, pmix_data_type_t type, const void *at) {
  switch (type) {
    case PMIX_STRING: {
      const char *text = *(char *const *)at;
      fprintf(out, "'%s'", text == NULL ? "(null)" : text);
      break;
    }
    case PMIX_TIMEVAL: {
      const struct timeval *time = at;
      fprintf(out, "%ld.%ld", (long)time->tv_sec, (long)time->tv_usec);
      break;
    }
    case PMIX_PROC:
      fprintf(out, "%s.%u", ((const pmix_proc_t *)at)->nspace,
              ((const pmix_proc_t *)at)->rank);
      break;
    case PMIX_PROC_NSPACE:
      fprintf(out, "%s", (const char *)at);
      break;
    case PMIX_BYTE_OBJECT:
    case PMIX_COMPRESSED_BYTE_OBJECT:
    case PMIX_REGEX:
      ShowBytes(out, at);
      break;
    case PMIX_ENVAR: {
      const pmix_envar_t *envar = at;
      fprintf(out, "%s=%s(%c)", envar->envar, envar->value, envar->separator);
      break;
    }
    case PMIX_INFO: {
      const pmix_info_t *info = at;
      fprintf(out, "%s=", info->key);
      ShowValue(out, &info->value);
      break;
    }
    case PMIX_VALUE:
      ShowValue(out, at);
      break;
    case PMIX_DATA_ARRAY:
      ShowArray(out, at);
      break;
    case PMIX_COORD:
      ShowCoord(out, at);
      break;
    case PMIX_GEOMETRY:
      ShowGeometry(out, at);
      break;
    case PMIX_REGATTR:
      ShowRegattr(out, at);
      break;
    case PMIX_PROC_INFO:
      ShowProcInfo(out, at);
      break;
    case PMIX_PROC_STATS:
      ShowProcStats(out, at);
      break;
    case PMIX_DEVICE_DIST: {
      const pmix_device_distance_t *d = at;
      fprintf(out, "(%s %s %llu %u %u)", d->uuid, d->osname,
              (unsigned long long)d->type, d->mindist, d->maxdist);
      break;
    }
    case PMIX_ENDPOINT: {
      const pmix_endpoint_t *endpoint = at;
      fprintf(out, "(%s %s ", endpoint->uuid, endpoint->osname);
      ShowBytes(out, &endpoint->endpt);
      fputc(')', out);
      break;
    }
    default:
      ShowNumber(out, type, at);
  }
}

// Returns the text, which the caller frees.
static inline char *TextOf(const pmix_value_t *value) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  ShowValue(out, value);
  fclose(out);
  return text;
}

static inline void MustEqual(const char *key, const pmix_value_t *got,
                             const pmix_value_t *want) {
  char *have = TextOf(got);
  char *should = TextOf(want);
  CHECK(strcmp(have, should) == 0, "%s is %s, not %s", key, have, should);
  free(have);
  free(should);
}

#endif  // CANOPY_TESTS_CONFORMANCE_SHOW_H_
