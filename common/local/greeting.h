// Frames that begin a connection, move it to the agent's successor, and give
// the client access to jobs' data.
#ifndef CANOPY_COMMON_LOCAL_GREETING_H_
#define CANOPY_COMMON_LOCAL_GREETING_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/describe_procs.h"
#include "common/local/collectives.h"

namespace canopy::local {

// kHello and kToolHello. The client makes the directory of its rank
// (PMIX_PROCDIR) when the program requests the name of the directory.
struct Hello {
  uint64_t version = 0;  // kProtocolVersion
  // A tool without a namespace gets a name from the agent.
  ProcView claimed;
  std::string_view token;    // of the process's environment; none for a tool
  std::string_view library;  // the library's version, as text
};

template <typename V>
void Describe(V& v, wire::Is<Hello> auto& m) {
  v.Field(1, m.version);
  v.Field(2, m.claimed);
  v.Bounded(3, m.token, 256);
  v.Bounded(4, m.library, 256);
}

// The payload of the reply to kHello. Descriptors of the files whose sizes are
// not 0 are attached (SCM_RIGHTS) in the order of the sizes. A tool gets only
// its name, the server's name and the epoch.
struct Welcome {
  ProcView self;
  ProcView server;
  uint64_t segment_size = 0;  // of the job's segment, in bytes
  // Size of the barrier's file (common/shm/barrier_layout.h). 0: fences are
  // messages.
  uint64_t barrier_size = 0;
  uint32_t index = 0;  // of the client, in the barrier and the mailboxes
  // Time for which the client searches for another agent when this one is gone.
  // 0: the client does not search.
  uint32_t reattach_ms = 0;
  uint64_t epoch = 0;  // differs for each agent
  // Size of the file of mailboxes (common/shm/commit_layout.h). 0: commits are
  // messages. There are mailboxes only with a barrier.
  uint64_t mailboxes_size = 0;
};

template <typename V>
void Describe(V& v, wire::Is<Welcome> auto& m) {
  v.Field(1, m.self);
  v.Field(2, m.server);
  v.Field(3, m.segment_size);
  v.Field(4, m.barrier_size);
  v.Field(5, m.index);
  v.Field(6, m.reattach_ms);
  v.Field(7, m.epoch);
  v.Field(8, m.mailboxes_size);
}

// kHandover: the agent is about to be replaced.
struct Handover {
  uint32_t reattach_ms = 0;  // replaces the value of the welcome
};

template <typename V>
void Describe(V& v, wire::Is<Handover> auto& m) {
  v.Field(1, m.reattach_ms);
}

// The number of collectives of one series that the client has seen end.
struct SeriesCount {
  Series series;
  uint64_t ended = 0;
};

template <typename V>
void Describe(V& v, wire::Is<SeriesCount> auto& m) {
  v.Field(1, m.series);
  v.Field(2, m.ended);
}

// kReattach: the number of collectives of each series that the client has seen
// end under former agents of this node. It is the first frame after the welcome
// of a successor.
struct Reattach {
  std::vector<SeriesCount> counts;
};

template <typename V>
void Describe(V& v, wire::Is<Reattach> auto& m) {
  v.Bounded(1, m.counts, kMaxSeries);
}

// A part of a file that is not a hole.
struct FilePart {
  uint64_t offset = 0;
  std::string_view bytes;
};

template <typename V>
void Describe(V& v, wire::Is<FilePart> auto& m) {
  v.Field(1, m.offset);
  v.Field(2, m.bytes);
}

// kSegment: the client may read the data of the job from now on. The segment's
// descriptor is attached, unless the client is a tool on another machine, which
// gets a copy of the file instead.
struct Segment {
  std::string_view nspace;
  uint64_t size = 0;           // of the segment, in bytes
  uint64_t file_size = 0;      // of the copy
  std::vector<FilePart> copy;  // the content of the file
};

template <typename V>
void Describe(V& v, wire::Is<Segment> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.size);
  v.Field(3, m.file_size);
  v.Field(4, m.copy);
}

}  // namespace canopy::local

#endif  // CANOPY_COMMON_LOCAL_GREETING_H_
