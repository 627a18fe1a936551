// Purpose: the one error that a block of data can cause. Its message is shown to the user.

export class DamagedPage extends Error {}
