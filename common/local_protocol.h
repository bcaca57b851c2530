// Frames between libpmix and its agent on the node's Unix socket. Both ends are
// on one machine: integers are in host order. docs/wire_protocol.md describes
// the life of a connection.
#ifndef CANOPY_COMMON_LOCAL_PROTOCOL_H_
#define CANOPY_COMMON_LOCAL_PROTOCOL_H_

#include <cstdint>

namespace canopy::local {

inline constexpr uint32_t kProtocolVersion = 6;
// The oldest version that an agent of this version still serves.
inline constexpr uint32_t kOldestVersion = 1;

// The environment of a process started by an agent:
inline constexpr char kEnvSocket[] = "CANOPY_SOCKET";  // path of the socket
inline constexpr char kEnvToken[] = "CANOPY_TOKEN";    // 32 hex digits
// Milliseconds for which a starting process waits for a successor if its agent
// is away. If absent, the process does not wait.
inline constexpr char kEnvReattach[] = "CANOPY_REATTACH_MS";
// These are set together with PMIX_NAMESPACE and PMIX_RANK.

// The largest payload that either side accepts.
inline constexpr uint32_t kMaxPayload = 256u << 20;
// The largest payload before the reply to kHello.
inline constexpr uint32_t kMaxHelloPayload = 4096;

enum class FrameType : uint16_t {
  // Client to agent. The payload is a WireWriter record (W) unless it is in
  // codec form (C). The agent answers the frames marked * with a kReply of the
  // same tag.
  kHello = 1,         // * W: Uint version, Proc claimed, String token,
                      //      String library version. From version 4 on the
                      //      client makes its rank's directory (PMIX_PROCDIR)
                      //      when its name is requested
  kCommit = 2,        //   W: Uint n, n x (Uint scope, String C:KVALs). With tag
                      //      0 there is no answer; otherwise as for *
  kCollective = 3,    // * W: Uint op, Uint n, n x Proc, Bool collect,
                      //      Uint timeout_ms, String C:infos
  kGet = 4,           // * W: Proc, String key, Bool immediate, Bool refresh,
                      //      Uint timeout_ms
  kAbort = 5,         // * W: Int status, String text, Uint n, n x Proc
  kFinalize = 6,      // * empty
  kEventsWanted = 7,  // * W: Bool all, Uint n, n x Int code
  kEventsUnwanted = 8,  // W: as kEventsWanted; no answer
  kNotify = 9,          // * W: Int status, Uint range, Uint n, n x Proc,
                        //      String C:infos
  kJobControl = 10,     // * W: Uint n, n x Proc, String C:infos. The reply's
                        //   payload is C:infos, the results
  kBarrierFull = 11,  //   empty: all ranks have arrived at the barrier, and the
                      //   agent has work to do before they may leave; no answer
  kReattach = 12,   //   W: Uint n, n x (Uint op, Uint m, m x Proc, Uint ended):
                    //     for each kind of collective and set of participants,
                    //     how many collectives the client has seen end under
                    //     former agents of this node. Sent first after the
                    //     welcome, from version 3 on; no answer. From version 6
                    //     on the groups follow: Uint n, n x (Uint op,
                    //     String name, Uint m, m x Proc, Uint ended)
  kCommitted = 13,  //  empty: the commit mailbox holds data that the agent
                    //  has requested; no answer
  // The following frames exist from version 6 on; an older agent answers them
  // with kErrNotSupported. A reattached client resends a request with the same
  // tag, by which the agents recognise a request that they may have executed
  // already.
  kPublish = 14,    // * W: String C:infos, the data and the directives as
                    //     passed by the caller
  kLookup = 15,     // * W: Uint n, n x String key, String C:infos. The reply's
                    //     payload is C: SIZE n, n PDATA, the values found
  kUnpublish = 16,  // * W: Uint n, n x String key, String C:infos. n = 0 means
                    //     all keys that the caller has published
  kSpawn = 17,      // * W: String C: SIZE n, n INFO of the job, SIZE m, m APP.
                    //   The reply's payload is the new namespace (text)
  kGroup = 18,      // * W: Uint op (4 construct, 5 destruct), String name,
                    //     Uint n, n x Proc, Uint timeout_ms, String C:infos.
                    //     The reply's payload for a construct is C:infos, the
                    //     results
  kGroupCall = 19,  // * W: Uint call (1 invite, 2 join, 3 leave), String name,
                    //     Uint n, n x Proc (none), Bool accepts, Uint
                    //     timeout_ms, String C:infos (empty). The agent
                    //     executes a leave. Invite and join proceed by events;
                    //     the agent only measures their time and replies when
                    //     it has passed
  kQuery = 20,      // * W: String C: SIZE n, n QUERY. The reply's payload,
                    //     also after a partial success, is C: SIZE n, n INFO
  kHostCall = 21,   // * W: Uint op, Uint n, n x Proc, String of the call. The
                    //   reply's payload is C: SIZE n, n INFO, the results, or
                    //   empty. The ops, with their calls:
                    //   1 PMIx_Job_control  C:infos; as kJobControl
                    //   2 PMIx_Allocation_request  W: Uint directive,
                    //     String C:infos
                    //   3 PMIx_Process_monitor  W: String C:infos, the one
                    //     that names what to monitor; Int error, String
                    //     C:infos, the directives
                    //   4 PMIx_Log  W: String C:infos, the data, String
                    //     C:infos, the directives
                    //   5 PMIx_Session_control  W: Uint session id, String
                    //     C:infos
                    //   6 PMIx_Resource_block  W: Uint directive, String name,
                    //     Uint n, n x (Uint type, Uint count), String C:infos
                    //   7 PMIx_Get_credential  C:infos
                    //   8 PMIx_Validate_credential  W: String credential,
                    //     String C:infos
                    //   10 PMIx_IOF_pull  a read, and 11 PMIx_IOF_push: see
                    //     common/iof_call.h, also for the answer to a read
                    //   12 PMIx_Fabric_register and PMIx_Fabric_update: see
                    //     common/fabric_call.h
  kToolHello = 22,  // * W: Uint version, Proc claimed (no namespace: the agent
                    //   gives a name), String library version. In place of
                    //   kHello: a tool, which is proved to be of the agent's
                    //   user by the kernel. The reply is as to kHello, with a
                    //   segment of size 0, which is not attached, no barrier,
                    //   no mailboxes, and nothing to reattach to
  kIgnored = 23,    //   W: String function, String key: a directive that this
                    //   library has not honoured; no answer
  // Agent to client.
  kReply = 64,     // W: Int status, String payload. The reply to kHello
                   //    carries: Proc own id, Proc server id, Uint segment
                   //    size; the job's segment is attached (SCM_RIGHTS).
                   //    From version 2 on, Uint size of the job's barrier and
                   //    Uint own index in it may follow, and the barrier is
                   //    attached as well (common/shm/barrier_layout.h). From
                   //    version 3 on both always follow (size 0: no barrier),
                   //    then Uint reattach_ms: how long to look for another
                   //    agent when this one is gone (0: not at all), and Uint
                   //    epoch, which differs for each agent. From version 5 on
                   //    Uint size of the job's commit mailboxes follows (0:
                   //    commit by kCommit). Mailboxes come only with a
                   //    barrier. They are attached too, and the client has
                   //    the same index in them (common/shm/commit_layout.h).
  kEvent = 65,     // W: Int status, Proc source, Uint range, String C:infos,
                   //    Proc raiser, Uint number. The last two identify the
                   //    event: a restarted agent may send events that its
                   //    predecessor has sent. Older agents omit them
  kSegment = 66,   // W: String nspace, Uint segment size; fd attached. The
                   //    client may read the namespace from now on. A tool on
                   //    another machine gets no fd but String copy, W: Uint
                   //    size of the file, and then, until the end, (Uint
                   //    offset, String bytes) of each part that is no hole
                   //    namespace that this client may read from now on. To a
  kHandover = 67,  // W: Uint reattach_ms, which replaces the value of the
                   //    welcome: the agent is about to be replaced.
};

struct FrameHeader {
  uint32_t length = 0;  // of the payload
  uint16_t type = 0;
  uint16_t flags = 0;  // 0
  // Chosen by the client; 0 in frames that answer no request. From version 6 on
  // no two requests of one rank have the same tag, on whatever connection.
  uint64_t tag = 0;
};
static_assert(sizeof(FrameHeader) == 16);

}  // namespace canopy::local

#endif  // CANOPY_COMMON_LOCAL_PROTOCOL_H_
