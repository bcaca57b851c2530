// Version negotiation and mutual authentication of a new stream, before packets
// flow. Pure functions; protos/overlay.proto defines the order of frames.
#ifndef CANOPY_SERVER_OVERLAY_HANDSHAKE_H_
#define CANOPY_SERVER_OVERLAY_HANDSHAKE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/ids.h"
#include "server/overlay/frame.h"
#include "server/overlay/stream.h"
#include "server/security/cluster_key.h"

namespace canopy::overlay {

// The identity of this agent in a handshake.
struct Identity {
  NodeId self = 0;
  uint32_t members = 0;
  std::string name;
  uint64_t incarnation = 0;
  std::string overlay_id;
  std::string address;
  uint32_t version = 0;
  uint32_t oldest_version = 0;
  std::optional<security::ClusterKey> key;
  bool recovered = false;  // see OverlayConfig::recovered
};

// The state of the packet flow between two incarnations.
struct ResumePoint {
  uint64_t peer_incarnation = 0;  // 0: no flow yet
  uint64_t received = 0;
};

// Returns the error "cluster key differs from that of <name>".
StreamEnd KeyDiffers(const std::string& name);

// ----------------------------------------------------------- dialling side ---

// Returns the first frame, with a new nonce.
Hello MakeHello(const Identity& self, const ResumePoint& resume);
// Returns why the parent is rejected, or kEndOk. `expected` is the node that
// was dialled, and `name` its name.
StreamEnd CheckWelcome(const Identity& self, const Hello& hello,
                       const Welcome& welcome, NodeId expected,
                       const std::string& name);
// Returns the answer to a Welcome that CheckWelcome has accepted.
Proof MakeProof(const Identity& self, const Hello& hello,
                const Welcome& welcome);

// ---------------------------------------------------------- listening side ---

// Returns why the child is rejected, or kEndOk. Checks everything except the
// proof, which arrives later.
StreamEnd CheckHello(const Identity& self, const Hello& hello);
// Returns the answer to a Hello that CheckHello has accepted.
Welcome MakeWelcome(const Identity& self, const Hello& hello,
                    const ResumePoint& resume);
// Returns why the child is rejected, or kEndOk. Without a cluster key, any
// proof is accepted.
StreamEnd CheckProof(const Identity& self, const Hello& hello,
                     const Welcome& welcome, const Proof& proof);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_HANDSHAKE_H_
