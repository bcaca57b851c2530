// The kinds of objects that agents read, and their readers. These take any
// JSON: fields that are absent or have other types read as their defaults, and
// fields that no agent needs are skipped.
#ifndef CANOPY_SERVER_KUBERNETES_API_OBJECTS_H_
#define CANOPY_SERVER_KUBERNETES_API_OBJECTS_H_

#include "server/kubernetes/api/endpoint_slice.h"
#include "server/kubernetes/api/job.h"
#include "server/kubernetes/api/pod.h"

#endif  // CANOPY_SERVER_KUBERNETES_API_OBJECTS_H_
