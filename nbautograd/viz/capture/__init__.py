"""A backward pass recorded: events of the protocol, collected into a timeline.

It knows models of graphs; it must not know how a timeline is drawn or shown. (Called so because ``viz.record`` is the
public function.)
"""
